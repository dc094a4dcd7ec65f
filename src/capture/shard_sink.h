// File: shard_sink.h
// The observer that turns one shard's forward passes into the calls of a CaptureWriter.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "attnscope/capture/capture_plan.h"
#include "attnscope/capture/head_summary.h"
#include "attnscope/core/host_copy.h"
#include "attnscope/core/taps.h"
#include "map_assembler.h"

namespace attnscope {

// What a whole run shares.
struct RunContext {
  const ModelConfig& config;
  const CaptureSpec& spec;
  const CapturePlan& plan;
  EngineChoice engine;
  c10::Device device;  // of the model
  WritePipeline& pipeline;
  HeadSummary& summary;
  std::atomic<std::int64_t>& nan_values;
  const std::atomic<bool>* stop;     // may be null
  std::function<void()> layer_done;  // after each layer with statistics; may be empty
};

// Throws Error (interrupted) once a stop was asked for.
void check_stop(const std::atomic<bool>* stop);

class ShardSink : public Observer {
 public:
  ShardSink(const RunContext& run, const ShardPlan& shard, CaptureWriter& writer);

  // Adds every prompt of the shard to the file. Call once, before the first batch.
  void begin();
  void begin_batch(const BatchPlan& batch);
  void end_batch();

  Want want(HookId hook) const override;
  void on_value(HookId hook, const at::Tensor& value, const Batch& batch) override;
  void on_map_rows(HookId hook, const MapRows& rows, const Batch& batch) override;
  void on_statistics(HookId hook, std::span<const AttentionStatistics> rows,
                     const Batch& batch) override;

 private:
  struct Result {
    std::uint64_t bytes = 0;
    WritePipeline::Write write;
  };
  struct PromptState {
    std::shared_ptr<int> attention;  // the writer's handle, known on the writer thread
    std::map<HookId, MapAssembler> maps;
    std::vector<Result> held;  // packed layout: waits for the prompts before it
    bool done = false;
  };

  // Index in the plan, and in the file, of batch row `row`.
  int planned(int row) const;
  // Rows of other parts run beside ours (--shard).
  bool is_ours(int prompt) const {
    return prompt >= first_ && in_file(prompt) < static_cast<int>(prompts_.size());
  }
  int in_file(int prompt) const { return prompt - first_; }
  PromptState& state(int prompt) { return prompts_[static_cast<std::size_t>(in_file(prompt))]; }
  const HookPlan* find(HookId hook) const;
  // What is stored of `value` [t …], a row without pads, on its way to the host.
  HostCopy stored_part(const HookPlan& hook, const at::Tensor& value, int prompt) const;
  // Hands a site's values over now, or keeps them until their prompt's turn: the packed layout is
  // written prompt by prompt.
  void deliver(int prompt, std::uint64_t bytes, WritePipeline::Write write);
  void open_attention(int prompt);
  void release();

  RunContext run_;
  const ShardPlan& shard_;
  CaptureWriter& writer_;
  HostCopies copies_;
  int first_;
  bool in_order_;  // packed: results go out prompt by prompt
  std::vector<PromptState> prompts_;
  std::size_t next_ = 0;  // first prompt whose results have not gone out
  const BatchPlan* batch_ = nullptr;
};

// The tables of statistics of one prompt, and the record that describes it.
AttentionPlan attention_plan(const ModelConfig& config, const CapturePlan& plan, int prompt,
                             int top_k);

}  // namespace attnscope
