// File: verify_datasets.h
// Checks of each dataset of a file: attributes, labels, checksum, and the numbers of maps.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attnscope/storage/h5.h"
#include "attnscope/storage/reader.h"
#include "attnscope/storage/verify.h"
#include "verify_maps.h"

namespace attnscope::storage_detail {

class DatasetVerifier {
 public:
  DatasetVerifier(const CaptureReader& reader, std::vector<Finding>& findings);

  // Every dataset below `group`, each read once; attributes of groups and datasets too.
  void check_below(const h5::Group& group);
  // Waits for checks on other threads.
  void finish();

  std::int64_t nan_rows() const { return queue_.nan_rows(); }  // of maps, as the statistics say
  std::int64_t nan_values() const { return nan_values_; }      // of other sites

 private:
  // Where a dataset lies: /prompts/pNNNNNN/cache/<hook> or /packed/<hook>.
  struct Place {
    HookId hook;
    int prompt = -1;  // −1 = packed
  };
  static std::optional<Place> place_of(const std::string& path);

  void add(const h5::Dataset& dataset, const std::string& what, const std::string& expected,
           const std::string& got);
  void check(const h5::Dataset& dataset);
  void check_labels(const h5::Dataset& dataset);
  void check_subsets(const h5::Dataset& dataset);
  void check_site(const h5::Dataset& dataset, const Place& place);
  void check_map_attributes(const h5::Dataset& dataset);
  std::unique_ptr<MapVerifier> map_verifier(const h5::Dataset& dataset, const Place& place);
  std::shared_ptr<const RowFacts> facts(int prompt, Stack stack);

  const CaptureReader& reader_;
  std::vector<Finding>& findings_;
  std::int64_t layers_ = 0;  // of the model; 0 = not known
  CheckQueue queue_;
  std::int64_t nan_values_ = 0;
  std::pair<int, Stack> facts_of_{-1, Stack::self};
  std::shared_ptr<const RowFacts> facts_;
};

}  // namespace attnscope::storage_detail
