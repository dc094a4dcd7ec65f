#include "attnscope/render/table.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>

#include "attnscope/support/error.h"
#include "csv.h"

namespace attnscope {

using render::csv_field;

namespace {

std::string cell_text(float value) {
  if (std::isnan(value)) return "";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  return {buffer, end};
}

std::string label_at(const std::vector<std::string>& labels, int index) {
  return labels.empty() ? "" : labels[static_cast<std::size_t>(index)];
}

std::string npy_of(const std::string& shape, const std::vector<const HeatMap*>& maps) {
  static_assert(std::endian::native == std::endian::little);
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (" + shape + "), }";
  // Magic, version and length take 10 bytes; the whole header is a multiple of 64 and ends in \n.
  constexpr std::size_t kPrefix = 10, kAlign = 64;
  header.append((kAlign - (kPrefix + header.size() + 1) % kAlign) % kAlign, ' ');
  header += '\n';
  std::string npy("\x93NUMPY\x01\x00", 8);
  npy += static_cast<char>(header.size() & 0xff);
  npy += static_cast<char>(header.size() >> 8);
  npy += header;
  for (const HeatMap* map : maps) {
    npy.append(reinterpret_cast<const char*>(map->values.data()),
               map->values.size() * sizeof(float));
  }
  return npy;
}

std::string shape_of(const HeatMap& map) {
  return std::to_string(map.rows) + ", " + std::to_string(map.columns);
}

}  // namespace

std::string render::csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

std::string to_csv(const HeatMap& map) {
  check_heat_map(map);
  std::string csv = "position,token";
  for (int column = 0; column < map.columns; ++column) {
    const std::string name =
        std::to_string(map.column_position(column)) + ":" + label_at(map.column_labels, column);
    csv += "," + csv_field(name);
  }
  csv += "\r\n";
  for (int row = 0; row < map.rows; ++row) {
    csv += std::to_string(map.row_position(row)) + "," + csv_field(label_at(map.row_labels, row));
    for (int column = 0; column < map.columns; ++column)
      csv += "," + cell_text(map.at(row, column));
    csv += "\r\n";
  }
  return csv;
}

std::string to_csv(const HeatMapGrid& grid) {
  std::string csv = "map,query,key,query_token,key_token,value\r\n";
  for (const HeatMap& map : grid.maps) {
    check_heat_map(map);
    for (int row = 0; row < map.rows; ++row) {
      for (int column = 0; column < map.columns; ++column) {
        if (map.is_hidden(row, column)) continue;
        csv += csv_field(map.title) + "," + std::to_string(map.row_position(row)) + "," +
               std::to_string(map.column_position(column)) + "," +
               csv_field(label_at(map.row_labels, row)) + "," +
               csv_field(label_at(map.column_labels, column)) + "," +
               cell_text(map.at(row, column)) + "\r\n";
      }
    }
  }
  return csv;
}

std::string to_npy(const HeatMap& map) {
  check_heat_map(map);
  return npy_of(shape_of(map), {&map});
}

std::string to_npy(const HeatMapGrid& grid) {
  std::vector<const HeatMap*> maps;
  for (const HeatMap& map : grid.maps) {
    check_heat_map(map);
    if (map.rows == 0) continue;
    if (!maps.empty() && shape_of(map) != shape_of(*maps.front())) {
      throw Error(ErrorKind::input, "RN02",
                  {.where = map.title,
                   .what = "maps of different sizes do not fit into one array",
                   .expected = "(" + shape_of(*maps.front()) + ")",
                   .got = "(" + shape_of(map) + ")",
                   .next = "export the heads one by one, or as csv"});
    }
    maps.push_back(&map);
  }
  const std::string shape = maps.empty() ? "0, 0" : shape_of(*maps.front());
  return npy_of(std::to_string(maps.size()) + ", " + shape, maps);
}

}  // namespace attnscope
