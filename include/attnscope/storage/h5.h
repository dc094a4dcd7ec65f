// File: h5.h
// Owners for the handles of the HDF5 C library, and the few calls that attnscope needs of it.
//
// Rules that hold for every file made here: a new file is created with H5F_ACC_EXCL (never
// emptied), format bounds v110, no object times, plugins off, no file lock of HDF5 (output.h has
// its own). The library never prints; its error stack becomes one Error with a code "H5nn".
// Reading errors are of kind input (exit 2), writing errors of kind output (exit 3).
//
// Thread contract: one thread at a time uses a File and everything that came from it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attnscope/sites/tensor_view.h"

namespace attnscope::h5 {

using Id = std::int64_t;  // hid_t
using Dims = std::vector<std::uint64_t>;

// Larger chunks are refused when a file is read.
inline constexpr std::uint64_t kMaxChunkBytes = 64U << 20U;

// An HDF5 handle, closed at the end of its life.
class Handle {
 public:
  using Close = int (*)(Id);
  Handle() = default;
  Handle(Id id, Close close) : id_(id), close_(close) {}
  ~Handle() { reset(); }
  Handle(Handle&& other) noexcept
      : id_(std::exchange(other.id_, -1)), close_(std::exchange(other.close_, nullptr)) {}
  Handle& operator=(Handle&& other) noexcept;
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  Id get() const { return id_; }
  // False if closing failed.
  bool reset();
  Id release() { return std::exchange(id_, -1); }

 private:
  Id id_ = -1;
  Close close_ = nullptr;
};

// What messages name and how errors are classed.
struct Context {
  std::string path;
  bool writing = false;
  bool abandoned = false;     // a write failed: handles are left open, see File::abandon
  bool close_failed = false;  // closing an object failed; File::close tells
  std::optional<std::set<std::string>> compared{};  // datasets, see File::compare_digests
};

// Number types of files, and text of a fixed number of bytes (UTF-8, padded with NUL).
enum class Scalar : std::uint8_t { f16, f32, f64, i8, i32, i64, u8, text };

struct Type {
  Scalar scalar = Scalar::f32;
  std::size_t bytes = 4;  // of one value; the width of text
  bool operator==(const Type&) const = default;
  static Type of(Scalar scalar);
  static Type text(std::size_t width) { return {Scalar::text, width}; }
};
Type type_of(DType dtype);  // bf16, i16 and boolean have none: an error

enum class Filters : std::uint8_t {
  none,             // contiguous or chunked raw
  shuffle_deflate,  // stock filters 2 and 1
  deflate,          // text
};

enum class Fill : std::uint8_t { zero, minus_infinity, nan };

// Whether a contiguous dataset gets its fill value before the first write.
enum class Prefill : std::uint8_t {
  yes,
  no,  // every value will be written
};

struct DatasetSpec {
  Type type;
  Dims dims;   // empty = a single value
  Dims chunk;  // empty = contiguous
  Filters filters = Filters::none;
  Fill fill = Fill::nan;  // float types only; integers and text fill with 0
  Prefill prefill = Prefill::yes;
};

// A rectangular part: first index and extent along each axis.
struct Slab {
  Dims offset;
  Dims extent;
};

// Attributes, shared by groups and datasets.
class Object {
 public:
  const std::string& path() const { return path_; }  // inside the file, "/" for the root

  void set_text(const std::string& name, std::string_view value);
  void set_integer(const std::string& name, std::int64_t value);
  void set_integers(const std::string& name, std::span<const std::int64_t> values);
  void set_number(const std::string& name, double value);
  void set_texts(const std::string& name, std::span<const std::string> values);
  // The dimension labels of the HDF5 dimension scale convention.
  void set_labels(std::span<const std::string> labels);

  bool has_attribute(const std::string& name) const;
  std::vector<std::string> attribute_names() const;
  // Text attributes of fixed or variable length; nothing if absent or of another type.
  std::optional<std::string> text(const std::string& name) const;
  std::optional<std::int64_t> integer(const std::string& name) const;
  std::optional<double> number(const std::string& name) const;
  std::vector<std::int64_t> integers(const std::string& name) const;  // empty if absent
  std::vector<std::string> texts(const std::string& name) const;      // empty if absent
  std::vector<std::string> labels() const;
  // Reads every attribute, so that the library compares its own checksums; throws if one differs.
  void require_readable_attributes() const;

  Id id() const { return handle_.get(); }

 protected:
  Object() = default;
  Object(Handle handle, std::shared_ptr<Context> context, std::string path);
  ~Object();
  Object(Object&&) noexcept = default;
  Object& operator=(Object&& other) noexcept;
  [[noreturn]] void fail(const char* code, const std::string& what) const;

  Handle handle_;
  std::shared_ptr<Context> context_;
  std::string path_;
};

// A piece of a dataset as it is on disk: a chunk, or some rows of a contiguous dataset.
struct StoredPart {
  Dims at;                        // index of its first value
  std::uint32_t filter_mask = 0;  // bit i set: filter i of the dataset was not applied
  std::vector<std::byte> bytes;
};

class Dataset : public Object {
 public:
  Dataset() = default;
  Dataset(Handle handle, std::shared_ptr<Context> context, std::string path);

  Type type() const;
  Dims dims() const;
  Dims chunk() const;       // empty = contiguous
  Filters filters() const;  // of an opened dataset; another order than ours is refused
  std::uint64_t count() const;

  // Whole dataset or a part; memory is contiguous and of the dataset's own type (text: `width`
  // bytes a value), so no conversion takes place.
  void write(const void* data);
  void write(const Slab& slab, const void* data);
  void read(void* data) const;
  void read(const Slab& slab, void* data) const;

  // Stored chunks as they are on disk. `offset` is the index of the chunk's first value.
  void write_chunk(const Dims& offset, std::uint32_t filter_mask, std::span<const std::byte> data);
  std::uint64_t chunk_bytes(const Dims& offset) const;  // 0 = not stored
  std::uint32_t read_chunk(const Dims& offset, std::span<std::byte> data) const;

  // Everything that is stored: chunks in index order (last axis fastest), those that are not
  // stored skipped; of a contiguous dataset its bytes. `visit` may take the bytes.
  void for_each_stored_part(const std::function<void(StoredPart&)>& visit) const;
  // SHA-256 over the stored parts.
  std::string sha256() const;

 private:
  void require_undamaged() const;
};

class Group : public Object {
 public:
  Group() = default;
  Group(Handle handle, std::shared_ptr<Context> context, std::string path);

  Group create_group(const std::string& name);
  Group open_group(const std::string& name) const;
  // Creates what is missing along "a/b/c".
  Group require_group(const std::string& path);
  Dataset create_dataset(const std::string& name, const DatasetSpec& spec);
  // Refuses, by name, what a hostile file could hold: external or soft links, external or virtual
  // storage, unknown filters, chunks over 64 MiB, more than 6 axes, other types.
  Dataset open_dataset(const std::string& name) const;
  bool has(const std::string& name) const;       // "a/b" too
  bool is_group(const std::string& name) const;  // exists and is a group
  std::vector<std::string> names() const;        // sorted
  // Copies `name` with all that is below it; stored chunks are copied as they are.
  void copy(const Group& from, const std::string& name, const std::string& new_name);

 private:
  void copy_attributes(const Object& from, Object& to);
};

class File {
 public:
  // A new file; an existing one is an error.
  static File create(const std::string& path);
  // Read only. Throws (exit 2): missing, not a regular file, not HDF5, damaged, being written.
  static File open(const std::string& path);

  ~File();
  File(File&&) noexcept = default;
  File& operator=(File&&) = delete;

  Group root() const;
  const std::string& path() const { return context_->path; }
  // From now on, whoever reads values of a dataset first has its SHA-256 compared with the stored
  // one, where there is one: another is an error (exit 2). Once a dataset, and only up to 64 MiB:
  // larger ones are mostly chunks, which zlib's own checksum guards.
  void compare_digests() { context_->compared.emplace(); }
  // Closes; a failing write shows here at the latest.
  void close();
  // After a failed write: every handle of this file is left open on purpose, because closing a
  // file that could not be written crashes the library. The caller removes the file.
  void abandon() noexcept;

 private:
  File(Handle handle, std::shared_ptr<Context> context);
  Handle handle_;
  std::shared_ptr<Context> context_;
};

// "1.10.8", as the library reports it at run time.
std::string library_version();

}  // namespace attnscope::h5
