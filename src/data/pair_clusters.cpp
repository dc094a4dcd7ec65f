#include "pair_clusters.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

namespace attnscope {
namespace {

using Ids = std::vector<std::int64_t>;

// What makes two pairs the same.
using Identity = std::tuple<Ids, std::optional<Ids>, Ids, Ids, std::optional<std::int64_t>>;

Ids sorted(Ids ids) {
  std::sort(ids.begin(), ids.end());
  return ids;
}

Identity identity_of(const EncodedPair& pair) {
  std::optional<Ids> corrupt;
  if (pair.corrupt) corrupt = pair.corrupt->ids;
  return {pair.clean.ids, std::move(corrupt), sorted(pair.answers), sorted(pair.wrongs),
          pair.label};
}

// The group of each pair, numbered by first appearance.
std::vector<std::size_t> groups_of(const std::vector<EncodedPair>& pairs, std::size_t& count) {
  std::map<std::string, std::size_t> known;
  std::vector<std::size_t> groups;
  count = 0;
  for (const EncodedPair& pair : pairs) {
    const std::size_t group =
        pair.group.empty() ? count : known.emplace(pair.group, count).first->second;
    if (group == count) ++count;
    groups.push_back(group);
  }
  return groups;
}

}  // namespace

void number_clusters(PairSet& set) {
  std::size_t n_groups = 0;
  const std::vector<std::size_t> group_of_pair = groups_of(set.pairs, n_groups);
  std::map<Identity, std::size_t> numbers;
  std::vector<std::set<std::size_t>> contents(n_groups);
  for (std::size_t p = 0; p < set.pairs.size(); ++p) {
    const auto number = numbers.emplace(identity_of(set.pairs[p]), numbers.size()).first->second;
    contents[group_of_pair[p]].insert(number);
  }
  std::map<std::set<std::size_t>, int> clusters;
  std::vector<int> cluster_of_group;
  for (std::set<std::size_t>& content : contents) {
    const auto next = static_cast<int>(clusters.size());
    cluster_of_group.push_back(clusters.emplace(std::move(content), next).first->second);
  }
  for (std::size_t p = 0; p < set.pairs.size(); ++p) {
    set.pairs[p].cluster = cluster_of_group[group_of_pair[p]];
  }
  set.n_groups = static_cast<int>(n_groups);
  set.n_clusters = static_cast<int>(clusters.size());
}

}  // namespace attnscope
