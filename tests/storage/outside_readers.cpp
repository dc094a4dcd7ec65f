#include "storage/outside_readers.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

namespace attnscope::testing {
namespace {

bool runs(const std::string& command) {
  return std::system((command + " >/dev/null 2>&1").c_str()) == 0;
}

void write_bytes(const std::string& path, const std::vector<std::byte>& bytes) {
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(bytes.data()),
            static_cast<std::streamsize>(bytes.size()));
}

}  // namespace

std::optional<std::string> python_with_h5py() {
  const char* named = std::getenv("ATTNSCOPE_PYTHON");
  for (const std::string& python : {std::string(named == nullptr ? "" : named),
                                    std::string(ATTNSCOPE_SOURCE_DIR "/.venv/bin/python")}) {
    if (!python.empty() && runs("'" + python + "' -c 'import h5py'")) return python;
  }
  return std::nullopt;
}

void expect_h5py_equal(const std::string& path, const std::vector<Expected>& expected,
                       const std::string& scratch) {
  const auto python = python_with_h5py();
  if (!python) {
    std::cout << "h5py not checked: set ATTNSCOPE_PYTHON to a Python that has it\n";
    return;
  }
  // One line a dataset: path, dtype, shape, file with the expected bytes.
  const std::string list = scratch + "/expected.tsv";
  std::ofstream out(list);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const std::string file = scratch + "/" + std::to_string(i) + ".bin";
    write_bytes(file, expected[i].bytes);
    out << expected[i].path << '\t' << expected[i].dtype << '\t';
    for (std::size_t a = 0; a < expected[i].shape.size(); ++a) {
      out << (a == 0 ? "" : ",") << expected[i].shape[a];
    }
    out << '\t' << file << '\n';
  }
  out.close();
  const std::string command = "'" + *python +
                              "' '" ATTNSCOPE_SOURCE_DIR "/tests/storage/compare_h5py.py' '" +
                              path + "' '" + list + "'";
  EXPECT_EQ(std::system(command.c_str()), 0);
}

void expect_h5dump_equal(const std::string& path, const std::vector<Expected>& expected,
                         const std::string& scratch) {
  if (!runs("h5dump --version")) {
    std::cout << "h5dump not checked: it is in the package hdf5-tools\n";
    return;
  }
  const std::string out = scratch + "/h5dump.bin";
  for (const Expected& e : expected) {
    // h5dump 1.10 writes neither text nor 16-bit floats as binary.
    if (e.dtype[1] == 'S' || e.dtype == "<f2") continue;
    const std::string command =
        "h5dump -d '" + e.path + "' -b LE -o '" + out + "' '" + path + "' >/dev/null 2>&1";
    ASSERT_EQ(std::system(command.c_str()), 0) << e.path;
    std::ifstream in(out, std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    ASSERT_EQ(bytes.size(), e.bytes.size()) << e.path;
    EXPECT_EQ(bytes.compare(0, bytes.size(), reinterpret_cast<const char*>(e.bytes.data()),
                            e.bytes.size()),
              0)
        << e.path;
  }
}

}  // namespace attnscope::testing
