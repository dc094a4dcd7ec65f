#include "capture_views.h"

#include "attnscope/support/error.h"
#include "attnscope/support/text.h"
#include "attnscope/support/utf8.h"

namespace attnscope::cli {

void require_maps(const CaptureReader& file) {
  const FileKind kind = file.file().kind;
  if (kind == FileKind::capture || (file.prompts() > 0 && !file.hooks(0).empty())) return;
  throw Error(ErrorKind::input, "VW02",
              {.where = escape_untrusted(file.path(), 4096),
               .what = "the file holds the results of an experiment, no attention maps",
               .expected = "a file of attnscope capture",
               .got = std::string("a file of kind ") + file_kind_name(kind),
               .next = "attnscope stats FILE lists the results, export FILE --figure draws them"});
}

HeadId parse_head(const CaptureReader& file, const std::string& text, const std::string& option) {
  const std::vector<HeadId> heads = parse_heads(text, heads_per_layer(file), option);
  if (heads.size() == 1) return heads.front();
  throw Error(ErrorKind::input, "VW01",
              {.where = option,
               .what = "one head is drawn at a time",
               .expected = "one head such as 5.1",
               .got = quote(text)});
}

std::vector<HeadId> parse_stored_heads(const CaptureReader& file, int prompt, Site site,
                                       const std::string& text, Warnings& warnings) {
  const std::vector<HeadId> asked = parse_heads(text, heads_per_layer(file), "--heads");
  std::vector<HeadId> stored;
  for (const HeadId head : asked) {
    if (has_head_map(file, prompt, head, site)) stored.push_back(head);
  }
  if (stored.empty()) fail_missing_map(file, prompt, asked.front(), site);
  if (stored.size() < asked.size()) {
    warnings.add("left out: " + count_of(asked.size() - stored.size(), "head") +
                 " of which no map was recorded");
  }
  return stored;
}

Site map_site(MapChoice choice) {
  return choice == MapChoice::pattern ? Site::pattern : Site::attn_scores;
}

int find_prompt(const CaptureReader& file, const std::string& id) {
  return id.empty() ? 0 : file.find_prompt(id, "--prompt-id");
}

}  // namespace attnscope::cli
