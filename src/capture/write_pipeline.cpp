#include "write_pipeline.h"

#include <system_error>
#include <utility>

#include "attnscope/support/error.h"

namespace attnscope {

WritePipeline::WritePipeline(int compressors, std::uint64_t max_bytes) : max_bytes_(max_bytes) {
  try {
    for (int i = 0; i < compressors; ++i) threads_.emplace_back([this] { compressor_loop(); });
    threads_.emplace_back([this] { writer_loop(); });
  } catch (const std::system_error& error) {
    stop();
    throw Error(ErrorKind::limit, "CA21",
                {.where = "threads that compress and write",
                 .what = std::string("cannot be started: ") + error.code().message(),
                 .next = "allow more memory or processes (ulimit -a)"});
  }
}

WritePipeline::~WritePipeline() {
  stop();
}

void WritePipeline::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    drop_queued();
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void WritePipeline::push(std::uint64_t bytes, Write write) {
  auto job = std::make_shared<Job>();
  job->bytes = bytes;
  job->write = std::move(write);
  job->ready = true;
  enqueue(std::move(job));
}

void WritePipeline::push(std::uint64_t bytes, Compress compress, WriteChunk write) {
  auto job = std::make_shared<Job>();
  job->bytes = bytes;
  job->compress = std::move(compress);
  job->write_chunk = std::move(write);
  enqueue(std::move(job));
}

void WritePipeline::enqueue(std::shared_ptr<Job> job) {
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return error_ || bytes_ == 0 || bytes_ + job->bytes <= max_bytes_; });
    if (error_) std::rethrow_exception(error_);
    bytes_ += job->bytes;
    if (!job->ready) to_compress_.push_back(job);
    order_.push_back(std::move(job));
  }
  changed_.notify_all();
}

void WritePipeline::compressor_loop() {
  ChunkCompressor compressor;
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return stopping_ || !to_compress_.empty(); });
    if (stopping_) return;
    const std::shared_ptr<Job> job = std::move(to_compress_.front());
    to_compress_.pop_front();
    ++running_;
    lock.unlock();
    try {
      job->chunk = job->compress(compressor);
    } catch (...) {
      job->error = std::current_exception();
    }
    job->compress = nullptr;  // lets go of the uncompressed values
    lock.lock();
    job->ready = true;
    --running_;
    changed_.notify_all();
  }
}

void WritePipeline::writer_loop() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return stopping_ || (!order_.empty() && order_.front()->ready); });
    if (stopping_) return;
    std::shared_ptr<Job> job = std::move(order_.front());
    order_.pop_front();
    ++running_;
    lock.unlock();
    std::exception_ptr error = job->error;
    if (!error) {
      try {
        if (job->write) {
          job->write();
        } else {
          job->write_chunk(job->chunk);
        }
      } catch (...) {
        error = std::current_exception();
      }
    }
    const std::uint64_t bytes = job->bytes;
    job.reset();
    lock.lock();
    bytes_ -= bytes;
    --running_;
    if (error && !error_) {
      error_ = error;
      drop_queued();
    }
    changed_.notify_all();
  }
}

void WritePipeline::drop_queued() {
  for (const auto& job : order_) bytes_ -= job->bytes;
  order_.clear();
  to_compress_.clear();
}

void WritePipeline::drain() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return error_ || (order_.empty() && running_ == 0); });
  if (error_) std::rethrow_exception(error_);
}

void WritePipeline::discard() noexcept {
  std::unique_lock lock(mutex_);
  drop_queued();
  changed_.notify_all();
  changed_.wait(lock, [&] { return running_ == 0; });
  error_ = nullptr;
}

}  // namespace attnscope
