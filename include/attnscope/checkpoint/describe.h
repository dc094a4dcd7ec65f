// File: describe.h
// A model's architecture in words and figures, as plain data for people to read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attnscope/checkpoint/checkpoint.h"

namespace attnscope {

// Neighbouring layers that are alike.
struct LayerGroup {
  int first = 0;
  int last = 0;
  int n_heads = 0;
  int n_kv_heads = 0;
  int d_head = 0;
  int d_mlp = 0;
  std::string mask;     // "causal", "causal, window of 4096 keys", "bidirectional"
  std::string rotary;   // "theta 10000, all 64 dims", "theta 500000, llama3 × 8"; empty without
  std::string details;  // soft-cap, qk-norm, scale by layer …; empty when there is nothing to say
};

// Bytes that a run takes beside the weights, in float32.
struct MemoryFigures {
  std::int64_t tokens = 0;
  std::uint64_t activations = 0;  // the residual stream and the widest layer's values
  std::uint64_t layer_maps = 0;   // attention maps of the layer with most heads [h n n]
  std::uint64_t all_maps = 0;     // attention maps of every layer
};

struct ArchitectureDescription {
  std::string name;
  std::string family;
  std::string architecture;
  std::string kind;       // "decoder", "encoder", "encoder and decoder"
  std::string norm;       // "RMS norm before attention and MLP, eps 1e-05"
  std::string positions;  // "rotary", "learned, up to 1024"
  std::string mlp;        // "gated, silu"
  std::string block;      // "sequential", "attention and MLP in parallel"
  std::string head;       // "language model, 50257 outputs, tied to the embedding"
  int d_model = 0;
  int d_embed = 0;
  int d_vocab = 0;
  int n_context = 0;
  int n_layers = 0;
  int n_distinct_layers = 0;  // fewer than n_layers where layers share weights
  std::vector<LayerGroup> layers;
  std::vector<std::string> labels;  // of a classifier
  std::int64_t parameters = 0;      // tied and shared tensors once
  std::uint64_t stored_bytes = 0;   // of these parameters in the files
  std::string stored_types;         // "float32", "bfloat16, float32"
  std::uint64_t memory_bytes = 0;   // of the weights in memory, as float32
  std::vector<std::string> unused;  // tensors of the files that are not read
};

ArchitectureDescription describe_architecture(const Checkpoint& checkpoint);

MemoryFigures estimate_memory(const ModelConfig& config, std::int64_t tokens);

}  // namespace attnscope
