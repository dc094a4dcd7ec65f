// Attributes.
#include <algorithm>
#include <array>

#include "attnscope/support/utf8.h"
#include "h5_detail.h"

namespace attnscope::h5 {
namespace {

constexpr hsize_t kMaxAttributeBytes = 16U << 20U;

// Trailing NULs are padding.
std::string trimmed(const char* data, std::size_t bytes) {
  while (bytes > 0 && data[bytes - 1] == '\0') --bytes;
  return {data, bytes};
}

struct OpenAttribute {
  Handle handle;
  Handle type;
  H5T_class_t type_class = H5T_NO_CLASS;
  hsize_t count = 0;
};

// Nothing if absent, too large to be ours, or not a flat array.
std::optional<OpenAttribute> open_attribute(Id object, const std::string& name) {
  prepare_library();
  if (H5Aexists(object, name.c_str()) <= 0) return std::nullopt;
  OpenAttribute out;
  out.handle = own_attribute(H5Aopen(object, name.c_str(), H5P_DEFAULT));
  if (out.handle.get() < 0) return std::nullopt;
  out.type = own_type(H5Aget_type(out.handle.get()));
  const Handle space = own_space(H5Aget_space(out.handle.get()));
  if (out.type.get() < 0 || space.get() < 0) return std::nullopt;
  const hssize_t points = H5Sget_simple_extent_npoints(space.get());
  const hsize_t limit = kMaxAttributeBytes / std::max<std::size_t>(1, H5Tget_size(out.type.get()));
  if (points < 0 || static_cast<hsize_t>(points) > limit) return std::nullopt;
  out.count = static_cast<hsize_t>(points);
  out.type_class = H5Tget_class(out.type.get());
  return out;
}

std::vector<std::string> read_texts(const OpenAttribute& attribute) {
  std::vector<std::string> out;
  const auto count = static_cast<std::size_t>(attribute.count);
  if (H5Tis_variable_str(attribute.type.get()) > 0) {
    std::vector<char*> pointers(count, nullptr);
    if (H5Aread(attribute.handle.get(), attribute.type.get(), pointers.data()) < 0) return out;
    for (char* p : pointers) {
      out.emplace_back(p == nullptr ? "" : p);
      H5free_memory(p);
    }
    return out;
  }
  const std::size_t width = H5Tget_size(attribute.type.get());
  std::string data(count * width, '\0');
  if (H5Aread(attribute.handle.get(), attribute.type.get(), data.data()) < 0) return out;
  for (std::size_t i = 0; i < count; ++i) out.push_back(trimmed(data.data() + i * width, width));
  return out;
}

herr_t collect_name(hid_t, const char* name, const H5A_info_t*, void* out) {
  static_cast<std::vector<std::string>*>(out)->emplace_back(name);
  return 0;
}

struct AttributeValue {
  Id file_type;
  std::optional<hsize_t> count;  // nothing = one value
  const void* data;
};

// An attribute of that name is replaced.
bool write_attribute(Id object, const std::string& name, const AttributeValue& value) {
  prepare_library();
  if (H5Aexists(object, name.c_str()) > 0 && H5Adelete(object, name.c_str()) < 0) return false;
  const Handle space =
      own_space(value.count ? H5Screate_simple(1, &*value.count, nullptr) : H5Screate(H5S_SCALAR));
  const Handle attribute = own_attribute(
      H5Acreate2(object, name.c_str(), value.file_type, space.get(), H5P_DEFAULT, H5P_DEFAULT));
  return attribute.get() >= 0 && H5Awrite(attribute.get(), value.file_type, value.data) >= 0;
}

}  // namespace

Object::Object(Handle handle, std::shared_ptr<Context> context, std::string path)
    : handle_(std::move(handle)), context_(std::move(context)), path_(std::move(path)) {}

Object::~Object() {
  if (!context_) return;
  if (context_->abandoned) {
    handle_.release();
  } else if (!handle_.reset()) {
    context_->close_failed = true;
  }
}

Object& Object::operator=(Object&& other) noexcept {
  std::swap(handle_, other.handle_);
  std::swap(context_, other.context_);
  std::swap(path_, other.path_);
  return *this;
}

void Object::fail(const char* code, const std::string& what) const {
  throw_h5(*context_, code, path_, what);
}

void Object::set_text(const std::string& name, std::string_view value) {
  const std::string padded = value.empty() ? std::string(1, '\0') : std::string(value);
  const Handle type = make_type(Type::text(padded.size()));
  if (!write_attribute(id(), name, {type.get(), std::nullopt, padded.data()})) {
    fail("H505", "cannot write attribute " + quote(name) + " of");
  }
}

void Object::set_integer(const std::string& name, std::int64_t value) {
  if (!write_attribute(id(), name, {H5T_STD_I64LE, std::nullopt, &value})) {
    fail("H505", "cannot write attribute " + quote(name) + " of");
  }
}

void Object::set_number(const std::string& name, double value) {
  if (!write_attribute(id(), name, {H5T_IEEE_F64LE, std::nullopt, &value})) {
    fail("H505", "cannot write attribute " + quote(name) + " of");
  }
}

void Object::set_integers(const std::string& name, std::span<const std::int64_t> values) {
  if (!write_attribute(id(), name, {H5T_STD_I64LE, hsize_t{values.size()}, values.data()})) {
    fail("H505", "cannot write attribute " + quote(name) + " of");
  }
}

void Object::set_texts(const std::string& name, std::span<const std::string> values) {
  std::size_t width = 1;
  for (const std::string& value : values) width = std::max(width, value.size());
  std::string data(width * values.size(), '\0');
  for (std::size_t i = 0; i < values.size(); ++i) values[i].copy(&data[i * width], width);
  const Handle type = make_type(Type::text(width));
  if (!write_attribute(id(), name, {type.get(), hsize_t{values.size()}, data.data()})) {
    fail("H505", "cannot write attribute " + quote(name) + " of");
  }
}

void Object::set_labels(std::span<const std::string> labels) {
  if (labels.empty()) return;
  // Variable length: the dimension scale convention reads them as char*.
  const Handle type = own_type(H5Tcopy(H5T_C_S1));
  H5Tset_size(type.get(), H5T_VARIABLE);
  std::vector<const char*> pointers;
  for (const std::string& label : labels) pointers.push_back(label.c_str());
  if (!write_attribute(id(), "DIMENSION_LABELS",
                       {type.get(), hsize_t{labels.size()}, pointers.data()})) {
    fail("H505", "cannot write the dimension labels of");
  }
}

bool Object::has_attribute(const std::string& name) const {
  prepare_library();
  return H5Aexists(id(), name.c_str()) > 0;
}

std::vector<std::string> Object::attribute_names() const {
  prepare_library();
  std::vector<std::string> names;
  hsize_t position = 0;
  if (H5Aiterate2(id(), H5_INDEX_NAME, H5_ITER_INC, &position, collect_name, &names) < 0) {
    fail("H505", "cannot list the attributes of");
  }
  return names;
}

std::optional<std::string> Object::text(const std::string& name) const {
  const auto attribute = open_attribute(id(), name);
  if (!attribute || attribute->type_class != H5T_STRING || attribute->count != 1) {
    return std::nullopt;
  }
  const auto values = read_texts(*attribute);
  return values.empty() ? std::nullopt : std::optional(values.front());
}

std::optional<std::int64_t> Object::integer(const std::string& name) const {
  const auto values = integers(name);
  return values.size() == 1 ? std::optional(values.front()) : std::nullopt;
}

std::optional<double> Object::number(const std::string& name) const {
  const auto attribute = open_attribute(id(), name);
  double value = 0;
  if (!attribute || attribute->type_class != H5T_FLOAT || attribute->count != 1 ||
      H5Aread(attribute->handle.get(), H5T_NATIVE_DOUBLE, &value) < 0) {
    return std::nullopt;
  }
  return value;
}

std::vector<std::int64_t> Object::integers(const std::string& name) const {
  const auto attribute = open_attribute(id(), name);
  if (!attribute || attribute->type_class != H5T_INTEGER) return {};
  std::vector<std::int64_t> values(static_cast<std::size_t>(attribute->count));
  if (H5Aread(attribute->handle.get(), H5T_NATIVE_INT64, values.data()) < 0) return {};
  return values;
}

std::vector<std::string> Object::texts(const std::string& name) const {
  const auto attribute = open_attribute(id(), name);
  if (!attribute || attribute->type_class != H5T_STRING) return {};
  return read_texts(*attribute);
}

void Object::require_readable_attributes() const {
  for (const std::string& name : attribute_names()) {
    const auto attribute = open_attribute(id(), name);
    if (!attribute) fail("H505", "cannot read attribute " + quote(name) + " of");
    const Id type = attribute->type.get();
    std::vector<std::byte> data(static_cast<std::size_t>(attribute->count) * H5Tget_size(type));
    if (data.empty()) continue;
    if (H5Aread(attribute->handle.get(), type, data.data()) < 0) {
      fail("H505", "cannot read attribute " + quote(name) + " of");
    }
    // Labels have variable length: the library allocated them.
    if (H5Tis_variable_str(type) > 0) {
      const Handle space = own_space(H5Aget_space(attribute->handle.get()));
      H5Dvlen_reclaim(type, space.get(), H5P_DEFAULT, data.data());
    }
  }
}

std::vector<std::string> Object::labels() const {
  return texts("DIMENSION_LABELS");
}

}  // namespace attnscope::h5
