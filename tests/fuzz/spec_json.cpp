// Options as JSON: what the front sends to the runner, and --spec FILE.
#include "attnscope/spec/spec_json.h"
#include "target.h"

using namespace attnscope;        // NOLINT
using namespace attnscope::fuzz;  // NOLINT

namespace {

template <typename Spec>
void check_round_trip(const Spec& spec) {
  check(spec_from_json<Spec>(spec_to_json(spec), "again") == spec,
        "a spec that does not come back");
  accepts([&] { validate(spec); });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = as_text(data, size);
  accepts([&] {
    const Envelope envelope = envelope_from_json(text, "file");
    std::visit([](const auto& spec) { check_round_trip(spec); }, envelope.spec);
    check(envelope_from_json(envelope_to_json(envelope), "again") == envelope,
          "an envelope that does not come back");
  });
  accepts([&] {
    const auto spec = spec_from_json<CaptureSpec>(text, "file");
    check_round_trip(spec);
    const std::string resolved = resolved_options_json(spec);
    check(differing_keys(resolved, resolved).empty(), "options that differ from themselves");
  });
  return 0;
}
