// Which pairs count as one draw.
#pragma once

#include "attnscope/data/pairs.h"

namespace attnscope {

// Sets `cluster` of every pair, `n_groups` and `n_clusters` of the set. Pairs of one group are one
// cluster, a pair without a group is a group of its own, and groups that hold exactly the same
// pairs, in any order and any number, are one cluster: copies are no further draws. Numbered by
// first appearance.
void number_clusters(PairSet& set);

}  // namespace attnscope
