// File: run_options.h
// What one run computes and what it gives back.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "attnscope/core/batch.h"
#include "attnscope/core/taps.h"

namespace attnscope {

// How attention is computed.
enum class Engine : std::uint8_t {
  // Layer by layer: aten where nothing of the maps, or few of them, are wanted and a fused pass can
  // compute the layer; else tiles, cpu_tiled or on a GPU cuda, where they can; else reference.
  automatic,
  reference,  // explicit scores and patterns, in blocks of queries; differentiable
  aten,       // fused scaled dot product attention; an error where a layer cannot be fused
  // Tiles of queries with statistics and rows of maps made on the way, on the CPU; an error where
  // scores are wanted, scores or patterns are changed, or gradients are wanted.
  cpu_tiled,
  // On a GPU: z by LibTorch's fused pass, statistics and maps by two passes of our own over q and
  // k,
  // shown on the host while the device goes on. An error where cpu_tiled is one, and in float64.
  cuda,
};
const char* engine_name(Engine engine);

enum class LogitsAt : std::uint8_t { none, last, all, positions };

struct LogitsRequest {
  LogitsAt at = LogitsAt::all;
  // LogitsAt::positions: positions of the unpadded rows, −1 is the last; one list for all rows or
  // one a row, all of one length p.
  std::vector<std::vector<int>> positions;
  std::vector<std::int64_t> columns;  // vocabulary ids; empty = all
};

// What the last layer computes.
enum class LastLayer : std::uint8_t {
  whole,
  // Keys and values everywhere, the rest only at the position that the logits are read at. Needs
  // one position a row and no user of the layer's hooks; else the layer is computed whole. Rounding
  // differs from a whole layer.
  read_positions,
};

enum class Gradients : std::uint8_t { off, on };
enum class BaseRecording : std::uint8_t { off, on };

// Rows longer than the context that the model was made for.
enum class ContextLimit : std::uint8_t {
  refuse,
  exceed,  // allowed where positions are computed; a learned table has no more rows
};

// Positions whose inner MLP values [b q f], the widest of a layer, live at once unless a hook of
// them is used.
inline constexpr std::int64_t kMlpPositions = 4096;

// Queries whose maps are shown at once by cpu_tiled: a row of tiles of a file, so that who stores
// them keeps the rows and copies nothing.
inline constexpr int kMapStripQueries = 256;

struct RunOptions {
  Engine engine = Engine::automatic;
  LogitsRequest logits;
  // Last layer to compute; −1 = all. A run that stops early has no logits and gives the residual
  // that the next layer would read as `hidden`.
  int stop_after_layer = -1;
  // on: nothing is computed in place and autograd records; only the reference engine. Leaves are
  // made by the caller: an edit callback that returns a tensor with requires_grad, or the residual
  // given to run_from.
  Gradients gradients = Gradients::off;
  BaseRecording record_base = BaseRecording::off;
  ContextLimit context = ContextLimit::refuse;
  LastLayer last_layer = LastLayer::whole;
};

// What a run leaves behind so that others can start in its middle.
struct RunBase {
  Batch batch;
  std::vector<at::Tensor> rotated_k;  // per layer [b g k d]
  std::vector<at::Tensor> v;          // per layer [b g k d]
};

// A named point of a layer. Sites from the point on, itself included, are observed and changed;
// earlier ones are not reached.
enum class LayerPoint : std::uint8_t {
  resid_pre,             // `residual` is resid_pre; layer n_layers means after the last layer
  z,                     // `residual` is resid_pre, `z` what the heads put out
  resid_mid,             // `residual` is resid_mid; not in parallel blocks: start at z instead
  normalized_resid_mid,  // post-norm models
  resid_post,            // `residual` is resid_post
};

struct ResumePoint {
  int layer = 0;
  LayerPoint point = LayerPoint::resid_pre;
};

// The rows of a resumed run. Row r continues row base_row[r] of the base from position first[r] of
// the unpadded row to its end; a row with first > 0 reads the earlier keys and values from the
// base (causal models only). Rows are padded on the right.
struct ResumeRows {
  std::vector<int> base_row;
  std::vector<int> first;  // empty = 0 everywhere
};

struct ResumeInput {
  at::Tensor residual;  // [b q m] in the layout of resume_batch()
  at::Tensor z;         // [b q h d], LayerPoint::z only
};

// The batch that observers of a resumed run see: the suffixes, padded on the right, with their
// absolute position ids. Where some row starts behind position 0 the key axis of maps counts the
// positions of the whole rows: [b h q k], k the longest row.
Batch resume_batch(const Batch& base, const ResumeRows& rows);

// Which engine a layer's attention used, and why.
struct LayerEngine {
  Engine engine = Engine::reference;
  std::string reason;  // "statistics wanted", "nothing wanted"
};

struct RunResult {
  at::Tensor logits;  // [b q v], [b p v] or [b 1 v] as asked; undefined when not asked
  at::Tensor hidden;  // [b q m] last hidden state: models without a head, and early stops
  std::vector<InterventionReport> interventions;  // one for each of Taps::interventions
  std::vector<LayerEngine> engines;               // one a layer that ran
  std::shared_ptr<const RunBase> base;            // when it was asked for
  std::int64_t fully_masked_rows = 0;   // pattern rows of real tokens left without a visible key
  std::int64_t non_finite_outputs = 0;  // NaN or infinite values in logits or hidden
};

}  // namespace attnscope
