// File: table.h
// Heat maps as numbers: csv and npy.
#pragma once

#include <string>

#include "attnscope/render/heat_map.h"

namespace attnscope {

// RFC 4180 with a header. One map: columns "position", "token", then one for each key, named
// "0:token". Values are the shortest decimals that give the same float32; missing ones are empty,
// hidden ones are written as they are stored.
std::string to_csv(const HeatMap& map);
// Several maps: one line a cell, "map,query,key,query_token,key_token,value", without hidden cells.
std::string to_csv(const HeatMapGrid& grid);

// numpy's .npy, version 1.0, little-endian float32 in C order: [rows columns].
std::string to_npy(const HeatMap& map);
// [maps rows columns]; maps of unequal size are an error RN02 (exit 2).
std::string to_npy(const HeatMapGrid& grid);

}  // namespace attnscope
