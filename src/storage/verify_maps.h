// File: verify_maps.h
// Checks attention maps while they are read: the thread that reads the file hands stored tiles
// over, other threads decode them and look at the numbers.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "attnscope/storage/h5.h"
#include "attnscope/storage/reader.h"
#include "check_queue.h"
#include "row_facts.h"

namespace attnscope::storage_detail {

// One map. Whole rows of tiles are handed to the queue together, because the sum of a row needs
// them all.
class MapVerifier {
 public:
  MapVerifier(const StoredSite& site, std::shared_ptr<const RowFacts> facts, CheckQueue& queue);
  // The next stored tile in index order; takes its bytes.
  void add(h5::StoredPart& tile);
  void finish();

 private:
  void expect_before(const h5::Dims* at);
  void flush();

  std::shared_ptr<const StoredSite> site_;
  std::shared_ptr<const RowFacts> facts_;
  CheckQueue& queue_;
  std::vector<Tile> expected_;  // tiles with unmasked values
  std::size_t next_ = 0;
  bool missing_ = false;
  std::vector<h5::StoredPart> rows_;  // whole rows of tiles, not handed over yet
  std::size_t bytes_ = 0;
};

}  // namespace attnscope::storage_detail
