#include "attnscope/render/table.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "attnscope/support/error.h"
#include "maps.h"

namespace attnscope {
namespace {

HeatMap two_by_two() {
  HeatMap map;
  map.rows = map.columns = 2;
  map.values = {1, 0, 0.1F, std::numeric_limits<float>::quiet_NaN()};
  map.row_labels = map.column_labels = {"a,\"b\"", " c"};
  map.row_positions = map.column_positions = {3, 7};
  map.title = "head 0.1";
  return map;
}

TEST(Csv, OfOneMap) {
  EXPECT_EQ(to_csv(two_by_two()),
            "position,token,\"3:a,\"\"b\"\"\",7: c\r\n"
            "3,\"a,\"\"b\"\"\",1,0\r\n"
            "7, c,0.1,\r\n");
}

TEST(Csv, OfAGridLeavesHiddenCellsOut) {
  HeatMap map = two_by_two();
  map.hidden = HiddenCells::above_diagonal;
  HeatMapGrid grid;
  grid.maps = {map};
  EXPECT_EQ(to_csv(grid),
            "map,query,key,query_token,key_token,value\r\n"
            "head 0.1,3,3,\"a,\"\"b\"\"\",\"a,\"\"b\"\"\",1\r\n"
            "head 0.1,7,3, c,\"a,\"\"b\"\"\",0.1\r\n"
            "head 0.1,7,7, c, c,\r\n");
}

// The layout that numpy documents for version 1.0.
TEST(Npy, OfOneMap) {
  const std::string npy = to_npy(testing::causal_map(3));
  ASSERT_EQ(npy.substr(0, 8), std::string("\x93NUMPY\x01\x00", 8));
  const std::size_t header =
      static_cast<unsigned char>(npy[8]) + 256U * static_cast<unsigned char>(npy[9]);
  EXPECT_EQ((10 + header) % 64, 0U);
  const std::string dictionary = npy.substr(10, header);
  EXPECT_EQ(dictionary.substr(0, dictionary.find('}') + 1),
            "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 3), }");
  EXPECT_EQ(dictionary.back(), '\n');
  ASSERT_EQ(npy.size(), 10 + header + 9 * sizeof(float));
  float values[9];
  std::memcpy(values, npy.data() + 10 + header, sizeof values);
  EXPECT_EQ(values[2], 0);
  EXPECT_EQ(values[4], 0.5F);
  EXPECT_EQ(values[6], 1.0F / 3);
}

TEST(Npy, OfAGridNeedsOneSize) {
  HeatMapGrid grid;
  grid.maps = {testing::causal_map(3), testing::causal_map(3)};
  EXPECT_NE(to_npy(grid).find("'shape': (2, 3, 3)"), std::string::npos);
  grid.maps.push_back(testing::causal_map(4));
  try {
    to_npy(grid);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), "RN02");
    EXPECT_EQ(error.exit_code(), 2);
  }
}

}  // namespace
}  // namespace attnscope
