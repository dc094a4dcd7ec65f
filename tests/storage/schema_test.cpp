// SCHEMA.md against files that are written: nothing is there that it does not list, and nothing
// that it requires is missing.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "attnscope/storage/diff.h"
#include "attnscope/storage/h5.h"
#include "attnscope/support/text.h"
#include "storage/sample.h"
#include "storage/sample_experiment.h"
#include "testing/temp_folder.h"

namespace attnscope {
namespace {

using testing::TempFolder;
using testing::write_sample;

struct Row {
  std::vector<std::string> cells;
  bool optional = false;
};

std::string plain(std::string cell) {
  std::erase(cell, '`');
  return std::string(trim(cell));
}

// Rows of the table under a heading; a '?' in any cell makes the row optional.
std::vector<Row> table(const std::string& heading) {
  std::ifstream in(ATTNSCOPE_SOURCE_DIR "/src/storage/SCHEMA.md");
  std::vector<Row> rows;
  bool inside = false;
  for (std::string line; std::getline(in, line);) {
    if (line.rfind("## ", 0) == 0) inside = line == "## " + heading;
    if (!inside || line.rfind("| ", 0) != 0) continue;
    Row row;
    for (std::string cell : split(line.substr(1, line.size() - 2), '|')) {
      if (cell.find('?') != std::string::npos) {
        row.optional = true;
        std::erase(cell, '?');
      }
      row.cells.push_back(plain(cell));
    }
    rows.push_back(row);
  }
  rows.erase(rows.begin());  // the header
  return rows;
}

std::string type_name(const h5::Type& type) {
  switch (type.scalar) {
    case h5::Scalar::f16:
      return "f16";
    case h5::Scalar::f32:
      return "f32";
    case h5::Scalar::f64:
      return "f64";
    case h5::Scalar::i8:
      return "i8";
    case h5::Scalar::i32:
      return "i32";
    case h5::Scalar::i64:
      return "i64";
    case h5::Scalar::u8:
      return "u8";
    case h5::Scalar::text:
      break;
  }
  return "text";
}

std::string attribute_type(const h5::Object& object, const std::string& name) {
  if (object.number(name)) return "number";
  if (!object.integers(name).empty())
    return object.integers(name).size() > 1 ? "integers" : "integer";
  return object.texts(name).size() > 1 ? "texts" : "text";
}

// "units" stands for the cells of an experiment or a grid of them.
bool dims_match(const std::string& documented, const std::string& dims) {
  const std::size_t at = documented.find("units");
  if (at == std::string::npos) return documented == "any" || documented == dims;
  for (const char* units : {"cell", "layer head", "layer position", "layer head position"}) {
    if (std::string(documented).replace(at, 5, units) == dims) return true;
  }
  return false;
}

// Whether a row names this very dataset; another one is for all that no row names.
bool names_dataset(const Row& row) {
  return row.cells[0].rfind("/experiments/", 0) != 0 || row.cells[0].back() != '*';
}

// '*' does not cross a '/'.
bool path_matches(const std::string& pattern, const std::string& path) {
  const auto p = split(pattern, '/');
  const auto q = split(path, '/');
  if (p.size() != q.size()) return false;
  for (std::size_t i = 0; i < p.size(); ++i) {
    if (!glob_match(p[i], q[i])) return false;
  }
  return true;
}

class SchemaCheck {
 public:
  void visit(const h5::Group& group) {
    check_attributes(group, kind_of(group));
    for (const std::string& name : group.names()) {
      if (group.is_group(name)) {
        visit(group.open_group(name));
      } else {
        check_dataset(group.open_dataset(name));
      }
    }
  }

  // Every row that is not optional was met in some file.
  void expect_all_required() const {
    for (const auto& [name, rows] :
         {std::pair{"Attributes", attributes_}, {"Datasets", datasets_}}) {
      for (const Row& row : rows) {
        const std::string key = join({row.cells[0], row.cells[1]}, " ");
        EXPECT_TRUE(row.optional || met_.count(key) > 0) << name << ": " << key;
      }
    }
  }

 private:
  static std::string kind_of(const h5::Group& group) {
    const std::string& path = group.path();
    if (path_matches("/prompts/p??????", path)) return "/prompts/*";
    const bool below =
        path_matches("/experiments/*", path) || path_matches("/experiments/*/*", path);
    if (below && group.has_attribute("kind")) return "experiment";
    return path;
  }

  void check_dataset(const h5::Dataset& dataset) {
    const std::string type = type_name(dataset.type());
    const std::string dims = dataset.text("dims").value_or("");
    bool found = false;
    const bool named = std::any_of(datasets_.begin(), datasets_.end(), [&](const Row& row) {
      return names_dataset(row) && path_matches(row.cells[0], dataset.path());
    });
    for (const Row& row : datasets_) {
      if (!path_matches(row.cells[0], dataset.path()) || names_dataset(row) != named) continue;
      const auto types = split(row.cells[1], ' ');
      const bool of_site = row.cells[2].rfind("of the site", 0) == 0;
      if (std::find(types.begin(), types.end(), type) == types.end()) continue;
      if (!of_site && !dims_match(row.cells[2], dims)) continue;
      found = true;
      met_.insert(join({row.cells[0], row.cells[1]}, " "));
    }
    EXPECT_TRUE(found) << dataset.path() << " " << type << " [" << dims << "]";
    check_attributes(dataset, "dataset");
  }

  void check_attributes(const h5::Object& object, const std::string& where) {
    const bool map = object.has_attribute("map_dtype");
    for (const std::string& name : object.attribute_names()) {
      bool found = false;
      for (const Row& row : attributes_) {
        const bool here = row.cells[0] == where || (row.cells[0] == "map" && map) ||
                          (row.cells[0] == "statistics" && name == "names");
        if (!here || !glob_match(row.cells[1], name)) continue;
        const std::string type = attribute_type(object, name);
        // A list of one reads like a single value.
        const bool same =
            row.cells[2] == "any" || row.cells[2] == type || row.cells[2] == type + "s";
        found |= same;
        if (same) met_.insert(join({row.cells[0], row.cells[1]}, " "));
      }
      EXPECT_TRUE(found) << object.path() << " @" << name << " " << attribute_type(object, name);
    }
    for (const Row& row : attributes_) {
      if (row.cells[0] == where && !row.optional) {
        EXPECT_TRUE(object.has_attribute(row.cells[1])) << object.path() << " @" << row.cells[1];
      }
    }
  }

  std::vector<Row> attributes_ = table("Attributes");
  std::vector<Row> datasets_ = table("Datasets");
  std::set<std::string> met_;
};

TEST(Schema, TheDocumentSaysWhatIsWritten) {
  const TempFolder folder;
  write_sample(folder.file("a.h5"), {.lengths = {3, 140}, .shard = ShardId{0, 2}});
  write_sample(folder.file("b.h5"), {.lengths = {3, 20}, .layout = FileLayout::packed});
  write_sample(folder.file("c.h5"), {.lengths = {3, 140}, .map_dtype = MapDType::f16});
  const CaptureReader a(folder.file("a.h5"));
  const CaptureReader c(folder.file("c.h5"));
  write_diff(diff_files(a, c), a, c, folder.file("d.h5"), IfExists::refuse);
  ExperimentRecord lens{.name = "lens/p000000", .kind = "lens", .metric = "kl"};
  lens.arrays = {{"kl", {"layer", "position"}, {1, 2}, {0, 1}}};
  testing::write_experiments(
      folder.file("e.h5"),
      {testing::sample_experiment("ablate", testing::CellShape::layer_head),
       testing::sample_experiment("sets", testing::CellShape::ragged),
       testing::sample_experiment("patch", testing::CellShape::layer_head_position), lens});
  SchemaCheck check;
  for (const char* name : {"a.h5", "b.h5", "c.h5", "d.h5", "e.h5"}) {
    const h5::File file = h5::File::open(folder.file(name));
    check.visit(file.root());
  }
  check.expect_all_required();
}

}  // namespace
}  // namespace attnscope
