#include "pictures.h"

#include "attnscope/render/capture_view.h"
#include "attnscope/render/picture.h"

namespace attnscope::demo {
namespace {

template <typename Drawing>
std::vector<std::string> write_both(const Drawing& drawing, const std::string& folder,
                                    const std::string& stem, WriteMode mode) {
  write_file_atomically(folder + "/" + stem + ".png", draw_picture(drawing, PictureFormat::png),
                        mode);
  write_file_atomically(folder + "/" + stem + ".svg", draw_picture(drawing, PictureFormat::svg),
                        mode);
  return {stem + ".png", stem + ".svg"};
}

std::vector<HeadId> stored_heads(const CaptureReader& file) {
  std::vector<HeadId> heads;
  const std::vector<int> counts = heads_per_layer(file);
  for (std::size_t layer = 0; layer < counts.size(); ++layer) {
    for (int head = 0; head < counts[layer]; ++head) {
      const HeadId id{.layer = static_cast<int>(layer), .head = head};
      if (has_head_map(file, 0, id, Site::pattern)) heads.push_back(id);
    }
  }
  return heads;
}

}  // namespace

std::vector<std::string> draw_head(const CaptureReader& file, HeadId head,
                                   const std::string& folder, const std::string& stem,
                                   WriteMode mode) {
  return write_both(head_map(file, 0, head, Site::pattern), folder, stem, mode);
}

std::vector<std::string> draw_all_heads(const CaptureReader& file, const std::string& folder,
                                        const std::string& stem, WriteMode mode) {
  const std::vector<HeadId> heads = stored_heads(file);
  return write_both(head_maps(file, 0, heads, Site::pattern), folder, stem, mode);
}

std::vector<std::string> draw_statistic(const CaptureReader& file, const std::string& statistic,
                                        const std::string& folder, const std::string& stem,
                                        WriteMode mode) {
  HeatMap map = heat_map_of(head_grid(file, 0, Stack::self, statistic));
  map.caption = {"model: " + file.model().name, "prompt: " + file.prompt(0).text};
  return write_both(map, folder, stem, mode);
}

}  // namespace attnscope::demo
