// File: fields.h
// The fields of every spec in one place: reading, writing and hashing all walk these lists.
#pragma once

#include "attnscope/spec/spec_json.h"

namespace attnscope::spec_fields {

// Whether a field can change the content of a result file, or only says where the inputs lie and
// how the result is delivered.
enum class Effect { content, delivery };

template <typename Visitor, typename Source>
void visit_prompts(Visitor& v, Source& s) {
  v("prompt", s.prompt, Effect::content);
  v("prompt_pair", s.pair, Effect::content);
  v("ids", s.ids, Effect::content);
  v("token_types", s.token_types, Effect::content);
  v("prompts", s.prompts_file, Effect::delivery);
  v("skip_bad", s.skip_bad, Effect::content);
}

template <typename Visitor, typename Options>
void visit_encoding(Visitor& v, Options& o) {
  v("bos", o.bos, Effect::content);
  v("invalid_utf8", o.invalid_utf8, Effect::content);
  v("chat", o.chat, Effect::content);
}

// The pairs file stands in the result by its hash.
template <typename Visitor, typename Source>
void visit_pairs(Visitor& v, Source& s) {
  v("pairs", s.pairs_file, Effect::delivery);
  v("prompt", s.prompt, Effect::content);
  v("corrupt", s.corrupt, Effect::content);
  v("answer", s.answer, Effect::content);
  v("wrong", s.wrong, Effect::content);
  v("ids", s.ids, Effect::content);
  v("corrupt_ids", s.corrupt_ids, Effect::content);
  v("answer_id", s.answer_id, Effect::content);
  v("wrong_id", s.wrong_id, Effect::content);
  v("answer_ids", s.answer_ids, Effect::content);
  v("skip_misaligned", s.skip_misaligned, Effect::content);
  v("skip_bad", s.skip_bad, Effect::content);
  v("limit", s.limit, Effect::content);
}

template <typename Visitor, typename Options>
void visit_metric(Visitor& v, Options& o) {
  v("metric", o.metric, Effect::content);
  v("at", o.at, Effect::content);
}

template <typename Visitor, typename Options>
void visit_sweep(Visitor& v, Options& o) {
  v("exact", o.exact, Effect::content);
  v("naive", o.naive, Effect::content);
  v("verify", o.verify, Effect::content);
  v("per_prompt", o.per_prompt, Effect::content);
  v("resamples", o.bootstrap, Effect::content);
}

template <typename Visitor, typename Options>
void visit_compute(Visitor& v, Options& o) {
  v("device", o.device, Effect::content);
  v("dtype", o.dtype, Effect::content);
  v("engine", o.engine, Effect::content);
  v("threads", o.threads, Effect::content);
  v("seed", o.seed, Effect::content);
  v("batch", o.batch, Effect::content);
  v("budget", o.budget, Effect::delivery);
}

template <typename Visitor, typename Options>
void visit_output(Visitor& v, Options& o) {
  v("out", o.out, Effect::delivery);
  v("force", o.force, Effect::delivery);
  v("resume", o.resume, Effect::delivery);
  v("quiet", o.quiet, Effect::delivery);
  v("json", o.json, Effect::delivery);
  v("dry_run", o.dry_run, Effect::delivery);
}

template <typename Spec>
struct Fields;

template <>
struct Fields<CaptureSpec> {
  static constexpr const char* verb = "capture";
  template <typename Visitor, typename Spec>
  static void visit(Visitor& v, Spec& s) {
    v("model", s.model, Effect::delivery);
    visit_prompts(v, s.prompts);
    visit_encoding(v, s.encoding);
    v("hooks", s.hooks, Effect::content);
    v("layers", s.layers, Effect::content);
    v("heads", s.heads, Effect::content);
    v("positions", s.positions, Effect::content);
    v("stats_only", s.stats_only, Effect::content);
    v("map_dtype", s.map_format, Effect::content);
    v("topk", s.top_k, Effect::content);
    v("layout", s.layout, Effect::content);
    v("beyond_context", s.beyond_context, Effect::content);
    v("strict", s.strict, Effect::content);
    v("fail_on_nan", s.fail_on_nan, Effect::content);
    visit_compute(v, s.compute);
    v("shard", s.shard, Effect::delivery);
    visit_output(v, s.output);
  }
};

template <>
struct Fields<AblateSpec> {
  static constexpr const char* verb = "ablate";
  template <typename Visitor, typename Spec>
  static void visit(Visitor& v, Spec& s) {
    v("model", s.model, Effect::delivery);
    visit_pairs(v, s.pairs);
    visit_encoding(v, s.encoding);
    visit_metric(v, s.metric);
    v("unit", s.unit, Effect::content);
    v("method", s.methods, Effect::content);
    v("layers", s.layers, Effect::content);
    v("heads", s.heads, Effect::content);
    v("neurons", s.neurons, Effect::content);
    v("positions", s.positions, Effect::content);
    v("effect", s.effects, Effect::content);
    v("reference", s.reference, Effect::delivery);
    v("vector", s.vector_file, Effect::delivery);
    v("interactions", s.interactions, Effect::content);
    v("leave_one_in", s.leave_one_in, Effect::content);
    v("rerun_f32", s.float32_rerun, Effect::content);
    visit_sweep(v, s.sweep);
    visit_compute(v, s.compute);
    v("strict", s.strict, Effect::content);
    v("fail_on_nan", s.fail_on_nan, Effect::content);
    v("shard", s.shard, Effect::delivery);
    visit_output(v, s.output);
  }
};

template <>
struct Fields<PatchSpec> {
  static constexpr const char* verb = "patch";
  template <typename Visitor, typename Spec>
  static void visit(Visitor& v, Spec& s) {
    v("model", s.model, Effect::delivery);
    visit_pairs(v, s.pairs);
    visit_encoding(v, s.encoding);
    visit_metric(v, s.metric);
    v("site", s.sites, Effect::content);
    v("by", s.by, Effect::content);
    v("direction", s.direction, Effect::content);
    v("layers", s.layers, Effect::content);
    v("heads", s.heads, Effect::content);
    v("positions", s.positions, Effect::content);
    v("senders", s.senders, Effect::content);
    v("receivers", s.receivers, Effect::content);
    v("freeze_mlps", s.freeze_mlps, Effect::content);
    v("edge", s.edges, Effect::content);
    v("queries", s.queries, Effect::content);
    v("keys", s.keys, Effect::content);
    v("window", s.window, Effect::content);
    v("floor", s.floor, Effect::content);
    visit_sweep(v, s.sweep);
    visit_compute(v, s.compute);
    v("strict", s.strict, Effect::content);
    v("fail_on_nan", s.fail_on_nan, Effect::content);
    v("shard", s.shard, Effect::delivery);
    visit_output(v, s.output);
  }
};

template <>
struct Fields<VerdictSpec> {
  static constexpr const char* verb = "verdict";
  template <typename Visitor, typename Spec>
  static void visit(Visitor& v, Spec& s) {
    v("model", s.model, Effect::delivery);
    visit_pairs(v, s.pairs);
    visit_encoding(v, s.encoding);
    visit_metric(v, s.metric);
    v("delta", s.delta, Effect::content);
    v("method", s.methods, Effect::content);
    v("layers", s.layers, Effect::content);
    v("source", s.sources, Effect::content);
    v("kv_groups", s.kv_groups, Effect::content);
    v("control_model", s.control_model, Effect::content);
    v("controls", s.random_draws, Effect::content);
    v("matched_sets", s.matched_sets, Effect::content);
    v("html", s.html, Effect::delivery);
    visit_sweep(v, s.sweep);
    visit_compute(v, s.compute);
    v("strict", s.strict, Effect::content);
    v("fail_on_nan", s.fail_on_nan, Effect::content);
    visit_output(v, s.output);
  }
};

template <>
struct Fields<LensSpec> {
  static constexpr const char* verb = "lens";
  template <typename Visitor, typename Spec>
  static void visit(Visitor& v, Spec& s) {
    v("model", s.model, Effect::delivery);
    visit_pairs(v, s.pairs);
    visit_encoding(v, s.encoding);
    v("positions", s.positions, Effect::content);
    v("topk", s.top_k, Effect::content);
    v("attribution", s.attribution, Effect::content);
    visit_compute(v, s.compute);
    v("strict", s.strict, Effect::content);
    v("fail_on_nan", s.fail_on_nan, Effect::content);
    visit_output(v, s.output);
  }
};

template <>
struct Fields<DemoSpec> {
  static constexpr const char* verb = "demo";
  template <typename Visitor, typename Spec>
  static void visit(Visitor& v, Spec& s) {
    v("out", s.out, Effect::delivery);
    v("force", s.force, Effect::delivery);
    v("quiet", s.quiet, Effect::delivery);
    v("json", s.json, Effect::delivery);
    v("threads", s.threads, Effect::content);
  }
};

template <>
struct Fields<DoctorSpec> {
  static constexpr const char* verb = "doctor";
  template <typename Visitor, typename Spec>
  static void visit(Visitor& v, Spec& s) {
    v("model", s.model, Effect::delivery);
    v("device", s.device, Effect::content);
    v("threads", s.threads, Effect::content);
    v("strict", s.strict, Effect::content);
    v("json", s.json, Effect::delivery);
  }
};

template <>
struct Fields<InspectSpec> {
  static constexpr const char* verb = "inspect";
  template <typename Visitor, typename Spec>
  static void visit(Visitor& v, Spec& s) {
    v("model", s.model, Effect::delivery);
    v("tokens", s.tokens, Effect::content);
    v("strict", s.strict, Effect::content);
    v("json", s.json, Effect::delivery);
  }
};

template <>
struct Fields<TokenizeSpec> {
  static constexpr const char* verb = "tokenize";
  template <typename Visitor, typename Spec>
  static void visit(Visitor& v, Spec& s) {
    v("model", s.model, Effect::delivery);
    visit_prompts(v, s.prompts);
    visit_encoding(v, s.encoding);
    v("no_special", s.no_special, Effect::content);
    v("json", s.json, Effect::delivery);
  }
};

template <>
struct Fields<StatsSpec> {
  static constexpr const char* verb = "stats";
  template <typename Visitor, typename Spec>
  static void visit(Visitor& v, Spec& s) {
    v("file", s.file, Effect::delivery);
    v("sort", s.sort, Effect::content);
    v("prompt_id", s.prompt_id, Effect::content);
    v("top", s.top, Effect::content);
    v("json", s.json, Effect::delivery);
  }
};

template <>
struct Fields<ShowSpec> {
  static constexpr const char* verb = "show";
  template <typename Visitor, typename Spec>
  static void visit(Visitor& v, Spec& s) {
    v("file", s.file, Effect::delivery);
    v("head", s.head, Effect::content);
    v("prompt_id", s.prompt_id, Effect::content);
    v("hook", s.hook, Effect::content);
    v("json", s.json, Effect::delivery);
  }
};

template <>
struct Fields<ExportSpec> {
  static constexpr const char* verb = "export";
  template <typename Visitor, typename Spec>
  static void visit(Visitor& v, Spec& s) {
    v("file", s.file, Effect::delivery);
    v("out", s.out, Effect::delivery);
    v("head", s.head, Effect::content);
    v("heads", s.heads, Effect::content);
    v("prompt_id", s.prompt_id, Effect::content);
    v("hook", s.hook, Effect::content);
    v("figure", s.figure, Effect::content);
    v("experiment", s.experiment, Effect::content);
    v("method", s.method, Effect::content);
    v("measure", s.measure, Effect::content);
    v("format", s.format, Effect::content);
    v("force", s.force, Effect::delivery);
    v("json", s.json, Effect::delivery);
  }
};

template <>
struct Fields<VerifySpec> {
  static constexpr const char* verb = "verify";
  template <typename Visitor, typename Spec>
  static void visit(Visitor& v, Spec& s) {
    v("file", s.file, Effect::delivery);
    v("json", s.json, Effect::delivery);
  }
};

template <>
struct Fields<MergeSpec> {
  static constexpr const char* verb = "merge";
  template <typename Visitor, typename Spec>
  static void visit(Visitor& v, Spec& s) {
    v("files", s.files, Effect::delivery);
    v("out", s.out, Effect::delivery);
    v("force", s.force, Effect::delivery);
    v("json", s.json, Effect::delivery);
  }
};

template <>
struct Fields<DiffSpec> {
  static constexpr const char* verb = "diff";
  template <typename Visitor, typename Spec>
  static void visit(Visitor& v, Spec& s) {
    v("left", s.left, Effect::delivery);
    v("right", s.right, Effect::delivery);
    v("out", s.out, Effect::delivery);
    v("force", s.force, Effect::delivery);
    v("json", s.json, Effect::delivery);
  }
};

template <>
struct Fields<ViewSpec> {
  static constexpr const char* verb = "view";
  template <typename Visitor, typename Spec>
  static void visit(Visitor& v, Spec& s) {
    v("files", s.files, Effect::delivery);
    v("host", s.host, Effect::delivery);
    v("port", s.port, Effect::delivery);
    v("open", s.open, Effect::delivery);
    v("html", s.html, Effect::delivery);
    v("force", s.force, Effect::delivery);
  }
};

}  // namespace attnscope::spec_fields
