// Groups: creating, opening with the checks that a foreign file needs, listing, copying.
#include <algorithm>
#include <array>
#include <limits>

#include "attnscope/support/text.h"
#include "attnscope/support/utf8.h"
#include "h5_detail.h"

namespace attnscope::h5 {
namespace {

constexpr int kMaxRank = 6;
constexpr hsize_t kMaxLinks = 1'000'000;
// With more attributes than this HDF5 moves them to a heap of several kilobytes an object.
constexpr unsigned kCompactAttributes = 40;

int close_group(Id id) {
  return H5Gclose(id);
}
int close_dataset(Id id) {
  return H5Dclose(id);
}

std::string child_path(const std::string& parent, const std::string& name) {
  return parent == "/" ? "/" + name : parent + "/" + name;
}

void set_fill(Id creation, const DatasetSpec& spec) {
  const bool is_float = spec.type.scalar == Scalar::f16 || spec.type.scalar == Scalar::f32 ||
                        spec.type.scalar == Scalar::f64;
  if (!is_float || spec.fill == Fill::zero) return;
  // Given as bits: conversion of float16 by the library is slow and NaN would lose its payload.
  const bool nan = spec.fill == Fill::nan;
  const Handle type = make_type(spec.type);
  const std::uint16_t half = nan ? 0x7e00 : 0xfc00;
  const float single =
      nan ? std::numeric_limits<float>::quiet_NaN() : -std::numeric_limits<float>::infinity();
  const double wide = single;
  const void* value = spec.type.scalar == Scalar::f16   ? static_cast<const void*>(&half)
                      : spec.type.scalar == Scalar::f32 ? static_cast<const void*>(&single)
                                                        : static_cast<const void*>(&wide);
  H5Pset_fill_value(creation, type.get(), value);
}

Handle dataset_creation(const DatasetSpec& spec) {
  Handle creation = own_plist(H5Pcreate(H5P_DATASET_CREATE));
  set_object_properties(creation.get());
  set_fill(creation.get(), spec);
  if (spec.prefill == Prefill::no) H5Pset_fill_time(creation.get(), H5D_FILL_TIME_NEVER);
  if (!spec.chunk.empty()) {
    const std::vector<hsize_t> chunk(spec.chunk.begin(), spec.chunk.end());
    H5Pset_chunk(creation.get(), static_cast<int>(chunk.size()), chunk.data());
    if (spec.filters == Filters::shuffle_deflate) H5Pset_shuffle(creation.get());
    if (spec.filters != Filters::none) H5Pset_deflate(creation.get(), 1);
  }
  return creation;
}

// A tile row of 32,768 float32 keys, so that rows read one after the other inflate a tile once.
Handle reader_access() {
  Handle access = own_plist(H5Pcreate(H5P_DATASET_ACCESS));
  H5Pset_chunk_cache(access.get(), 1009, 32U << 20U, 1.0);
  return access;
}

herr_t collect_link(hid_t, const char* name, const H5L_info_t*, void* out) {
  static_cast<std::vector<std::string>*>(out)->emplace_back(name);
  return 0;
}

// Every part of `path` must be a hard link.
void require_hard_links(const Context& context, Id group, const std::string& group_path,
                        const std::string& path) {
  std::string part;
  for (const std::string& name : split(path, '/')) {
    part += part.empty() ? name : "/" + name;
    H5L_info_t info{};
    if (H5Lget_info(group, part.c_str(), &info, H5P_DEFAULT) < 0) return;  // absent: open fails
    if (info.type != H5L_TYPE_HARD) {
      refuse(context, child_path(group_path, part), "the link leads elsewhere", "a plain link",
             info.type == H5L_TYPE_SOFT       ? "a soft link"
             : info.type == H5L_TYPE_EXTERNAL ? "an external link"
                                              : "a user-defined link");
    }
  }
}

void require_stock_filters(const Context& context, Id creation, const std::string& path) {
  const int filters = H5Pget_nfilters(creation);
  for (int i = 0; i < filters; ++i) {
    unsigned flags = 0;
    std::size_t values = 0;
    unsigned config = 0;
    const H5Z_filter_t filter = H5Pget_filter2(creation, static_cast<unsigned>(i), &flags, &values,
                                               nullptr, 0, nullptr, &config);
    if (filter != H5Z_FILTER_SHUFFLE && filter != H5Z_FILTER_DEFLATE) {
      refuse(context, path, "unknown filter", "shuffle and deflate",
             "filter " + std::to_string(filter));
    }
  }
  if (filters > 2) {
    refuse(context, path, "too many filters", "shuffle and deflate",
           std::to_string(filters) + " filters");
  }
}

void require_safe_storage(const Context& context, Id dataset, const std::string& path) {
  const Handle creation = own_plist(H5Dget_create_plist(dataset));
  const Handle space = own_space(H5Dget_space(dataset));
  const Handle type = own_type(H5Dget_type(dataset));
  if (creation.get() < 0 || space.get() < 0 || type.get() < 0) {
    refuse(context, path, "the dataset cannot be read", "a whole file", "damaged metadata");
  }
  if (H5Pget_external_count(creation.get()) != 0) {
    refuse(context, path, "the values lie in another file", "values in this file",
           "external storage");
  }
  const H5D_layout_t layout = H5Pget_layout(creation.get());
  if (layout == H5D_VIRTUAL) {
    refuse(context, path, "the values lie in another file", "values in this file",
           "a virtual dataset");
  }
  require_stock_filters(context, creation.get(), path);
  if (H5Sget_simple_extent_ndims(space.get()) > kMaxRank) {
    refuse(context, path, "too many axes", "at most " + std::to_string(kMaxRank),
           std::to_string(H5Sget_simple_extent_ndims(space.get())));
  }
  if (layout == H5D_CHUNKED) {
    std::array<hsize_t, H5S_MAX_RANK> chunk{};
    const int rank = H5Pget_chunk(creation.get(), H5S_MAX_RANK, chunk.data());
    hsize_t bytes = std::max<std::size_t>(1, H5Tget_size(type.get()));
    for (int a = 0; a < rank; ++a) {
      const hsize_t extent = std::max<hsize_t>(1, chunk[static_cast<std::size_t>(a)]);
      bytes = bytes > kMaxChunkBytes / extent ? kMaxChunkBytes + 1 : bytes * extent;
    }
    if (bytes > kMaxChunkBytes) {
      refuse(context, path, "the chunks are too large", "at most 64 MiB", "more");
    }
  }
}

}  // namespace

void set_object_properties(Id creation) {
  H5Pset_obj_track_times(creation, 0);
  H5Pset_attr_phase_change(creation, kCompactAttributes, kCompactAttributes - 1);
}

Group::Group(Handle handle, std::shared_ptr<Context> context, std::string path)
    : Object(std::move(handle), std::move(context), std::move(path)) {}

Group Group::create_group(const std::string& name) {
  prepare_library();
  const Handle creation = own_plist(H5Pcreate(H5P_GROUP_CREATE));
  set_object_properties(creation.get());
  Handle group(H5Gcreate2(id(), name.c_str(), H5P_DEFAULT, creation.get(), H5P_DEFAULT),
               close_group);
  const std::string path = child_path(path_, name);
  if (group.get() < 0) throw_h5(*context_, "H502", path, "cannot create group");
  return {std::move(group), context_, path};
}

Group Group::open_group(const std::string& name) const {
  prepare_library();
  require_hard_links(*context_, id(), path_, name);
  const std::string path = child_path(path_, name);
  Handle group(H5Gopen2(id(), name.c_str(), H5P_DEFAULT), close_group);
  if (group.get() < 0) throw_h5(*context_, "H503", path, "cannot open group");
  return {std::move(group), context_, path};
}

Group Group::require_group(const std::string& path) {
  const auto parts = split(path, '/');
  Group group = has(parts[0]) ? open_group(parts[0]) : create_group(parts[0]);
  for (std::size_t i = 1; i < parts.size(); ++i) {
    group = group.has(parts[i]) ? group.open_group(parts[i]) : group.create_group(parts[i]);
  }
  return group;
}

Dataset Group::create_dataset(const std::string& name, const DatasetSpec& spec) {
  prepare_library();
  const std::vector<hsize_t> dims(spec.dims.begin(), spec.dims.end());
  const Handle space = own_space(
      dims.empty() ? H5Screate(H5S_SCALAR)
                   : H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr));
  const Handle type = make_type(spec.type);
  const Handle creation = dataset_creation(spec);
  Handle dataset(H5Dcreate2(id(), name.c_str(), type.get(), space.get(), H5P_DEFAULT,
                            creation.get(), H5P_DEFAULT),
                 close_dataset);
  const std::string path = child_path(path_, name);
  if (dataset.get() < 0) throw_h5(*context_, "H502", path, "cannot create dataset");
  return {std::move(dataset), context_, path};
}

Dataset Group::open_dataset(const std::string& name) const {
  prepare_library();
  require_hard_links(*context_, id(), path_, name);
  const std::string path = child_path(path_, name);
  const Handle access = reader_access();
  Handle dataset(H5Dopen2(id(), name.c_str(), access.get()), close_dataset);
  if (dataset.get() < 0) throw_h5(*context_, "H503", path, "cannot open dataset");
  require_safe_storage(*context_, dataset.get(), path);
  return {std::move(dataset), context_, path};
}

bool Group::has(const std::string& name) const {
  prepare_library();
  std::string part;
  for (const std::string& piece : split(name, '/')) {
    part += part.empty() ? piece : "/" + piece;
    if (H5Lexists(id(), part.c_str(), H5P_DEFAULT) <= 0) return false;
  }
  return true;
}

bool Group::is_group(const std::string& name) const {
  if (!has(name)) return false;
  require_hard_links(*context_, id(), path_, name);
  H5O_info_t info{};
  return H5Oget_info_by_name2(id(), name.c_str(), &info, H5O_INFO_BASIC, H5P_DEFAULT) >= 0 &&
         info.type == H5O_TYPE_GROUP;
}

std::vector<std::string> Group::names() const {
  prepare_library();
  H5G_info_t info{};
  if (H5Gget_info(id(), &info) < 0) fail("H503", "cannot list group");
  if (info.nlinks > kMaxLinks) {
    refuse(*context_, path_, "too many members", "at most 1,000,000", std::to_string(info.nlinks));
  }
  std::vector<std::string> names;
  hsize_t position = 0;
  if (H5Literate(id(), H5_INDEX_NAME, H5_ITER_INC, &position, collect_link, &names) < 0) {
    fail("H503", "cannot list group");
  }
  return names;
}

}  // namespace attnscope::h5
