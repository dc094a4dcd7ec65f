#include "metaspace.h"

#include <nlohmann/json.hpp>
#include <string>

#include "attnscope/support/utf8.h"
#include "loading.h"

namespace attnscope::tok {

Metaspace read_metaspace(const JsonObject& object) {
  Metaspace metaspace;
  metaspace.replacement = code_point(object, "replacement", "");
  metaspace.split = object.boolean_or("split", true);
  const std::string scheme = object.string_or("prepend_scheme", "always");
  if (scheme == "always") {
    metaspace.scheme = Metaspace::Prepend::always;
  } else if (scheme == "first") {
    metaspace.scheme = Metaspace::Prepend::first;
  } else if (scheme == "never") {
    metaspace.scheme = Metaspace::Prepend::never;
  } else {
    object.fail("prepend_scheme", "", "one of always, first, never", quote(scheme));
  }
  if (!object.boolean_or("add_prefix_space", true)) {
    // Files that older library versions wrote have this key alone.
    if (object.has("prepend_scheme") && metaspace.scheme != Metaspace::Prepend::never) {
      object.fail("add_prefix_space", "contradicts prepend_scheme", quote("never"), quote(scheme));
    }
    metaspace.scheme = Metaspace::Prepend::never;
  }
  return metaspace;
}

}  // namespace attnscope::tok
