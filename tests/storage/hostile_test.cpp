// Files that are not ours, damaged or made to harm: refused by name, in bounded time.
#include <gtest/gtest.h>
#include <hdf5.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>

#include "attnscope/storage/reader.h"
#include "attnscope/storage/verify.h"
#include "attnscope/support/error.h"
#include "guard.h"
#include "storage/sample.h"
#include "testing/fixtures.h"
#include "testing/temp_folder.h"

namespace attnscope {
namespace {

namespace fs = std::filesystem;
using testing::TempFolder;
using testing::write_sample;

std::string refusal(const std::string& path) {
  try {
    const CaptureReader reader(path);
    for (int p = 0; p < reader.prompts(); ++p) reader.hooks(p);
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), 2) << error.what();
    return error.what();
  }
  return {};
}

void expect_refused(const std::string& path, const std::string& cause) {
  const std::string message = refusal(path);
  EXPECT_NE(message.find(cause), std::string::npos) << message;
}

// Changes a file with the library itself, behind our back.
void edit(const std::string& path, const std::function<void(hid_t)>& change) {
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  ASSERT_GE(file, 0);
  change(file);
  H5Fclose(file);
}

TEST(Hostile, ForeignFilesAreNamed) {
  const TempFolder folder;
  expect_refused(folder.file("none.h5"), "cannot open");
  expect_refused(folder.path(), "not a regular file");
  std::ofstream(folder.file("empty.h5")).flush();
  expect_refused(folder.file("empty.h5"), "an empty file");
  std::ofstream(folder.file("text.h5")) << "hello";
  expect_refused(folder.file("text.h5"), "not an HDF5 file");
  write_sample(folder.file("a.h5"), {.lengths = {3}});
  fs::resize_file(folder.file("a.h5"), 3000);
  EXPECT_NE(refusal(folder.file("a.h5")), "");
  edit((write_sample(folder.file("b.h5"), {.lengths = {3}}), folder.file("b.h5")),
       [](hid_t file) { H5Adelete(file, "schema"); });
  expect_refused(folder.file("b.h5"), "no attnscope file");
}

TEST(Hostile, NewerSchemasAreRefused) {
  const TempFolder folder;
  const std::string path = folder.file("a.h5");
  write_sample(path, {.lengths = {3}});
  edit(path, [](hid_t file) {
    H5Adelete(file, "schema");
    const hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, 11);
    const hid_t space = H5Screate(H5S_SCALAR);
    const hid_t attribute = H5Acreate2(file, "schema", type, space, H5P_DEFAULT, H5P_DEFAULT);
    H5Awrite(attribute, type, "attnscope/2");
    H5Aclose(attribute);
    H5Sclose(space);
    H5Tclose(type);
  });
  expect_refused(path, "newer version");
}

TEST(Hostile, LinksAndStorageOutsideTheFileAreRefused) {
  const TempFolder folder;
  const auto sample = [&](const std::string& name) {
    write_sample(folder.file(name), {.lengths = {3}});
    return folder.file(name);
  };
  const std::string external = sample("external.h5");
  edit(external, [](hid_t file) {
    H5Lcreate_external("other.h5", "/", file, "prompts/p000001", H5P_DEFAULT, H5P_DEFAULT);
  });
  expect_refused(external, "an external link");
  const std::string soft = sample("soft.h5");
  edit(soft, [](hid_t file) {
    H5Lcreate_soft("/prompts/p000000", file, "prompts/p000001", H5P_DEFAULT, H5P_DEFAULT);
  });
  expect_refused(soft, "a soft link");
  const std::string cycle = sample("cycle.h5");
  edit(cycle, [](hid_t file) {
    H5Lcreate_hard(file, "/prompts", file, "/prompts/p000000/loop", H5P_DEFAULT, H5P_DEFAULT);
  });
  expect_refused(cycle, "nested too deeply");

  const auto with_dataset = [&](const std::string& name, const std::function<void(hid_t)>& storage,
                                hsize_t extent) {
    const std::string path = sample(name);
    edit(path, [&](hid_t file) {
      const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
      storage(creation);
      const hid_t space = H5Screate_simple(1, &extent, nullptr);
      const hid_t dataset = H5Dcreate2(file, "model/extra", H5T_NATIVE_FLOAT, space, H5P_DEFAULT,
                                       creation, H5P_DEFAULT);
      EXPECT_GE(dataset, 0);
      H5Dclose(dataset);
      H5Sclose(space);
      H5Pclose(creation);
    });
    return path;
  };
  expect_refused(with_dataset(
                     "storage.h5", [](hid_t p) { H5Pset_external(p, "/etc/passwd", 0, 40); }, 10),
                 "external storage");
  expect_refused(with_dataset(
                     "virtual.h5",
                     [](hid_t p) {
                       const hsize_t ten = 10;
                       const hid_t space = H5Screate_simple(1, &ten, nullptr);
                       H5Pset_virtual(p, space, "other.h5", "/x", space);
                       H5Sclose(space);
                     },
                     10),
                 "a virtual dataset");
  expect_refused(with_dataset(
                     "filter.h5",
                     [](hid_t p) {
                       const hsize_t ten = 10;
                       H5Pset_chunk(p, 1, &ten);
                       H5Pset_fletcher32(p);
                     },
                     10),
                 "unknown filter");
  expect_refused(with_dataset(
                     "chunk.h5",
                     [](hid_t p) {
                       const hsize_t large = 32U << 20U;
                       H5Pset_chunk(p, 1, &large);
                     },
                     32U << 20U),
                 "chunks are too large");
  expect_refused(with_dataset(
                     "huge.h5",
                     [](hid_t p) {
                       const hsize_t some = 1U << 20U;
                       H5Pset_chunk(p, 1, &some);
                     },
                     1ULL << 60U),
                 "too large");
}

TEST(Hostile, CrashFilesAreRefusedInBoundedTime) {
  const auto archive = testing::material("malformed/hdf5/cve_hdf5.tar.xz");
  if (!archive) GTEST_SKIP() << "ATTNSCOPE_MATERIAL is not set";
  const TempFolder folder;
  ASSERT_EQ(std::system(("tar -xJf '" + *archive + "' -C '" + folder.path() + "'").c_str()), 0);
  int files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder.path())) {
    if (!entry.is_regular_file()) continue;
    ++files;
    const auto start = std::chrono::steady_clock::now();
    // None of them is ours, so each must be refused; the process that reads survives them all.
    EXPECT_NE(refusal(entry.path().string()), "") << entry.path();
    EXPECT_THROW(verify_file(entry.path().string()), Error) << entry.path();
    // The walk behind the first check, as if the file said that it were ours.
    try {
      storage_detail::run_guarded(entry.path().string(), {.seconds = 2}, [&entry] {
        storage_detail::walk_file(h5::File::open(entry.path().string()));
        return std::string();
      });
    } catch (const Error& error) {
      EXPECT_EQ(error.exit_code(), 2) << error.what();
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    EXPECT_LT(took.count(), 200) << entry.path();
  }
  EXPECT_GE(files, 90);
}

TEST(Hostile, TheLibraryNeverPrints) {
  const TempFolder folder;
  write_sample(folder.file("a.h5"), {.lengths = {3}});
  fs::resize_file(folder.file("a.h5"), 3000);
  ::testing::internal::CaptureStderr();
  EXPECT_THROW(CaptureReader(folder.file("a.h5"), {.trust = Trust::own}), Error);
  EXPECT_THROW(CaptureReader(folder.file("a.h5")), Error);
  EXPECT_THROW(CaptureWriter(folder.file("no/folder/a.h5"), {}, {}, {}, {}), Error);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace attnscope
