// Copying between files. H5Ocopy would do it, but crashes in HDF5 1.10 when a write fails.
#include <algorithm>

#include "attnscope/support/utf8.h"
#include "h5_detail.h"

namespace attnscope::h5 {
namespace {

constexpr std::uint64_t kBlockBytes = 8U << 20U;

bool copy_attribute(Id from, Id to, const std::string& name) {
  const Handle source = own_attribute(H5Aopen(from, name.c_str(), H5P_DEFAULT));
  const Handle type = own_type(H5Aget_type(source.get()));
  const Handle space = own_space(H5Aget_space(source.get()));
  const hssize_t points = H5Sget_simple_extent_npoints(space.get());
  if (source.get() < 0 || type.get() < 0 || points < 0) return false;
  const std::size_t bytes = std::max<std::size_t>(1, H5Tget_size(type.get()));
  std::vector<std::byte> data(static_cast<std::size_t>(points) * bytes);
  if (!data.empty() && H5Aread(source.get(), type.get(), data.data()) < 0) return false;
  const Handle target = own_attribute(
      H5Acreate2(to, name.c_str(), type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT));
  const bool written =
      target.get() >= 0 && (data.empty() || H5Awrite(target.get(), type.get(), data.data()) >= 0);
  // Labels have variable length: the library allocated them.
  if (H5Tis_variable_str(type.get()) > 0) {
    H5Dvlen_reclaim(type.get(), space.get(), H5P_DEFAULT, data.data());
  }
  return written;
}

void copy_blocks(const Dataset& from, Dataset& to) {
  const Dims dims = from.dims();
  const std::uint64_t bytes = from.count() * from.type().bytes;
  if (bytes == 0) return;
  if (dims.empty()) {
    std::vector<std::byte> value(bytes);
    from.read(value.data());
    to.write(value.data());
    return;
  }
  const std::uint64_t row_bytes = bytes / dims[0];
  const std::uint64_t rows = std::max<std::uint64_t>(1, kBlockBytes / row_bytes);
  std::vector<std::byte> block;
  Slab slab{.offset = Dims(dims.size(), 0), .extent = dims};
  for (std::uint64_t row = 0; row < dims[0]; row += rows) {
    slab.offset[0] = row;
    slab.extent[0] = std::min(rows, dims[0] - row);
    block.resize(slab.extent[0] * row_bytes);
    from.read(slab, block.data());
    to.write(slab, block.data());
  }
}

void copy_values(const Dataset& from, Dataset& to) {
  if (from.chunk().empty()) return copy_blocks(from, to);
  from.for_each_stored_part(
      [&to](const StoredPart& part) { to.write_chunk(part.at, part.filter_mask, part.bytes); });
}

}  // namespace

void Group::copy_attributes(const Object& from, Object& to) {
  for (const std::string& name : from.attribute_names()) {
    if (!copy_attribute(from.id(), to.id(), name)) {
      throw_h5(*context_, "H504", to.path(), "cannot copy attribute " + quote(name) + " to");
    }
  }
}

void Group::copy(const Group& from, const std::string& name, const std::string& new_name) {
  prepare_library();
  if (from.is_group(name)) {
    const Group source = from.open_group(name);
    Group target = create_group(new_name);
    copy_attributes(source, target);
    for (const std::string& child : source.names()) target.copy(source, child, child);
    return;
  }
  const Dataset source = from.open_dataset(name);
  const Handle creation = own_plist(H5Dget_create_plist(source.id()));
  set_object_properties(creation.get());
  const Handle type = own_type(H5Dget_type(source.id()));
  const Handle space = own_space(H5Dget_space(source.id()));
  Handle handle(H5Dcreate2(id(), new_name.c_str(), type.get(), space.get(), H5P_DEFAULT,
                           creation.get(), H5P_DEFAULT),
                [](Id i) { return static_cast<int>(H5Dclose(i)); });
  const std::string path = path_ == "/" ? "/" + new_name : path_ + "/" + new_name;
  if (handle.get() < 0) throw_h5(*context_, "H502", path, "cannot create dataset");
  Dataset target(std::move(handle), context_, path);
  copy_attributes(source, target);
  copy_values(source, target);
}

}  // namespace attnscope::h5
