// File: write_pipeline.h
// Compresses results on a few threads and writes them on one, in the order they were handed over,
// while the thread that computes goes on. Memory is bounded: push waits while too much is under
// way.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "attnscope/storage/codec.h"

namespace attnscope {

class WritePipeline {
 public:
  using Write = std::function<void()>;
  using Compress = std::function<StoredChunk(ChunkCompressor&)>;
  using WriteChunk = std::function<void(const StoredChunk&)>;

  // `max_bytes`: what may be under way at once; a single larger result still passes.
  WritePipeline(int compressors, std::uint64_t max_bytes);
  // Drops what has not been written.
  ~WritePipeline();
  WritePipeline(const WritePipeline&) = delete;
  WritePipeline& operator=(const WritePipeline&) = delete;

  // Each push may throw the error of an earlier result; what follows an error is dropped.
  // `write` runs on the writer thread after all that was pushed before.
  void push(std::uint64_t bytes, Write write);
  // `compress` runs on some compressor thread, `write` then on the writer thread in its turn.
  void push(std::uint64_t bytes, Compress compress, WriteChunk write);

  // Waits until everything is written; throws the first error.
  void drain();
  // Waits for what is running, drops the rest and any error.
  void discard() noexcept;

 private:
  struct Job {
    std::uint64_t bytes = 0;
    Write write;
    Compress compress;
    WriteChunk write_chunk;
    StoredChunk chunk;
    bool ready = false;
    std::exception_ptr error;
  };

  void enqueue(std::shared_ptr<Job> job);
  void compressor_loop();
  void writer_loop();
  void drop_queued();
  void stop();

  std::uint64_t max_bytes_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Job>> order_;  // not written yet, in order
  std::deque<std::shared_ptr<Job>> to_compress_;
  std::uint64_t bytes_ = 0;  // under way
  int running_ = 0;          // jobs on some thread right now
  bool stopping_ = false;
  std::exception_ptr error_;
  std::vector<std::thread> threads_;
};

}  // namespace attnscope
