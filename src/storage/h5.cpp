#include "attnscope/storage/h5.h"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cctype>

#include "attnscope/support/commit.h"
#include "attnscope/support/error.h"
#include "attnscope/support/file.h"
#include "attnscope/support/utf8.h"
#include "h5_detail.h"

namespace attnscope::h5 {

static_assert(std::endian::native == std::endian::little,
              "values are written in the machine's byte order; files are little-endian");

namespace {

// The description nearest to the cause, for H5Ewalk2.
herr_t keep_first(unsigned n, const H5E_error2_t* entry, void* out) {
  if (n == 0 && entry->desc != nullptr) *static_cast<std::string*>(out) = entry->desc;
  return 0;
}

// As the library says it everywhere.
constexpr std::string_view kNoMemory = "memory allocation failed";

// "No space left on device" out of the library's long sentence, else the sentence.
std::string cause_of_failure() {
  std::string cause = take_error();
  const std::string mark = "error message = '";
  if (const auto begin = cause.find(mark); begin != std::string::npos) {
    const auto end = cause.find('\'', begin + mark.size());
    cause = cause.substr(begin + mark.size(), end - begin - mark.size());
  }
  return escape_untrusted(cause);
}

Handle file_access() {
  Handle access = own_plist(H5Pcreate(H5P_FILE_ACCESS));
  H5Pset_libver_bounds(access.get(), H5F_LIBVER_V110, H5F_LIBVER_V110);
  H5Pset_fclose_degree(access.get(), H5F_CLOSE_STRONG);
  H5Pset_file_locking(access.get(), 0, 1);
  // Without this buffer a failed write of values shows in the call that made it.
  H5Pset_sieve_buf_size(access.get(), 0);
  return access;
}

std::string first_bytes(const InputFile& file) {
  std::string start(static_cast<std::size_t>(std::min<std::uint64_t>(8, file.size())), '\0');
  file.read(0, start.data(), start.size());
  return start.empty() ? "an empty file" : "a file that starts with " + quote(start);
}

int close_file(Id id) {
  return H5Fclose(id);
}

}  // namespace

std::string take_error() {
  std::string cause;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_first, &cause);
  H5Eclear2(H5E_DEFAULT);
  return cause;
}

void prepare_library() {
  // H5dont_atexit must come before the first use of the library.
  static const bool once = [] {
    H5dont_atexit();
    H5PLset_loading_state(0);
    return true;
  }();
  static thread_local const bool quiet = H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr) >= 0;
  static_cast<void>(once);
  static_cast<void>(quiet);
}

void throw_h5(Context& context, const char* code, const std::string& object,
              const std::string& what) {
  const std::string cause = cause_of_failure();
  if (context.writing) context.abandoned = true;
  std::string text = what;
  if (!object.empty()) text += " " + quote(object, 300);
  if (!cause.empty()) text += ": " + cause;
  // In a file that is read, too much memory is what a damaged size asks for.
  const bool no_memory = context.writing && cause.find(kNoMemory) != std::string::npos;
  const ErrorKind kind = no_memory         ? ErrorKind::limit
                         : context.writing ? ErrorKind::output
                                           : ErrorKind::input;
  throw Error(kind, code,
              {.where = escape_untrusted(context.path, 4096),
               .what = text,
               .next = no_memory ? "raise the limit on memory, or ask for less"
                       : context.writing
                           ? "look at the free space of the disk, then " + std::string(kRunItAgain)
                           : "the file is damaged or cut off: copy it again, or make it anew"});
}

void refuse(const Context& context, const std::string& object, const std::string& what,
            const std::string& expected, const std::string& got) {
  throw Error(ErrorKind::input, "H507",
              {.where = escape_untrusted(context.path, 4096),
               .what = quote(object, 300) + ": " + what,
               .expected = expected,
               .got = got});
}

Handle own_space(Id id) {
  return {id, [](Id i) { return static_cast<int>(H5Sclose(i)); }};
}
Handle own_type(Id id) {
  return {id, [](Id i) { return static_cast<int>(H5Tclose(i)); }};
}
Handle own_plist(Id id) {
  return {id, [](Id i) { return static_cast<int>(H5Pclose(i)); }};
}
Handle own_attribute(Id id) {
  return {id, [](Id i) { return static_cast<int>(H5Aclose(i)); }};
}

Handle make_type(const Type& type) {
  switch (type.scalar) {
    case Scalar::f16: {
      Handle half = own_type(H5Tcopy(H5T_IEEE_F32LE));
      H5Tset_fields(half.get(), 15, 10, 5, 0, 10);
      H5Tset_size(half.get(), 2);
      H5Tset_ebias(half.get(), 15);
      return half;
    }
    case Scalar::f32:
      return own_type(H5Tcopy(H5T_IEEE_F32LE));
    case Scalar::f64:
      return own_type(H5Tcopy(H5T_IEEE_F64LE));
    case Scalar::i8:
      return own_type(H5Tcopy(H5T_STD_I8LE));
    case Scalar::i32:
      return own_type(H5Tcopy(H5T_STD_I32LE));
    case Scalar::i64:
      return own_type(H5Tcopy(H5T_STD_I64LE));
    case Scalar::u8:
      return own_type(H5Tcopy(H5T_STD_U8LE));
    case Scalar::text:
      break;
  }
  Handle text = own_type(H5Tcopy(H5T_C_S1));
  H5Tset_size(text.get(), type.bytes);
  H5Tset_strpad(text.get(), H5T_STR_NULLPAD);
  H5Tset_cset(text.get(), H5T_CSET_UTF8);
  return text;
}

Handle& Handle::operator=(Handle&& other) noexcept {
  if (this != &other) {
    reset();
    id_ = std::exchange(other.id_, -1);
    close_ = std::exchange(other.close_, nullptr);
  }
  return *this;
}

bool Handle::reset() {
  const Id id = std::exchange(id_, -1);
  if (id < 0 || close_ == nullptr) return true;
  prepare_library();
  return close_(id) >= 0;
}

Type Type::of(Scalar scalar) {
  switch (scalar) {
    case Scalar::f16:
      return {scalar, 2};
    case Scalar::f64:
    case Scalar::i64:
      return {scalar, 8};
    case Scalar::i8:
    case Scalar::u8:
    case Scalar::text:
      return {scalar, 1};
    case Scalar::f32:
    case Scalar::i32:
      break;
  }
  return {scalar, 4};
}

Type type_of(DType dtype) {
  switch (dtype) {
    case DType::f16:
      return Type::of(Scalar::f16);
    case DType::f32:
      return Type::of(Scalar::f32);
    case DType::f64:
      return Type::of(Scalar::f64);
    case DType::i32:
      return Type::of(Scalar::i32);
    case DType::i64:
      return Type::of(Scalar::i64);
    case DType::u8:
      return Type::of(Scalar::u8);
    case DType::i8:
      return Type::of(Scalar::i8);
    case DType::i16:
    case DType::bf16:
    case DType::boolean:
      break;
  }
  throw Error(ErrorKind::internal, "H508",
              {.what = std::string("files have no type for ") + dtype_name(dtype)});
}

File::File(Handle handle, std::shared_ptr<Context> context)
    : handle_(std::move(handle)), context_(std::move(context)) {}

File File::create(const std::string& path) {
  prepare_library();
  auto context = std::make_shared<Context>(Context{.path = path, .writing = true});
  const bool was_there = ::access(path.c_str(), F_OK) == 0;
  const Handle creation = own_plist(H5Pcreate(H5P_FILE_CREATE));
  H5Pset_obj_track_times(creation.get(), 0);
  const Handle access = file_access();
  Handle file(H5Fcreate(path.c_str(), H5F_ACC_EXCL, creation.get(), access.get()), close_file);
  if (file.get() < 0) {
    // The library may have made the file before it failed.
    if (!was_there) ::unlink(path.c_str());
    throw_h5(*context, "H502", "", "cannot create the file");
  }
  return {std::move(file), std::move(context)};
}

File File::open(const std::string& path) {
  prepare_library();
  const InputFile probe(path, "H501");
  auto context = std::make_shared<Context>(Context{.path = path});
  if (H5Fis_hdf5(path.c_str()) <= 0) {
    throw Error(ErrorKind::input, "H501",
                {.where = escape_untrusted(path, 4096),
                 .what = "not an HDF5 file",
                 .expected = "a file that attnscope wrote",
                 .got = first_bytes(probe)});
  }
  const Handle access = file_access();
  Handle file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.get()), close_file);
  if (file.get() < 0) throw_h5(*context, "H501", "", "cannot open the HDF5 file");
  return {std::move(file), std::move(context)};
}

File::~File() {
  if (context_ && context_->abandoned) handle_.release();
}

Group File::root() const {
  prepare_library();
  Handle group(H5Gopen2(handle_.get(), "/", H5P_DEFAULT),
               [](Id i) { return static_cast<int>(H5Gclose(i)); });
  if (group.get() < 0) throw_h5(*context_, "H503", "/", "cannot open group");
  return {std::move(group), context_, "/"};
}

void File::close() {
  prepare_library();
  const bool lost = context_->writing && context_->close_failed;
  if (lost || (context_->writing && H5Fflush(handle_.get(), H5F_SCOPE_GLOBAL) < 0)) {
    handle_.release();
    throw_h5(*context_, "H506", "", "cannot write the file");
  }
  if (H5Fclose(handle_.release()) < 0) throw_h5(*context_, "H506", "", "cannot close the file");
}

void File::abandon() noexcept {
  context_->abandoned = true;
  handle_.release();
}

std::string library_version() {
  unsigned major = 0;
  unsigned minor = 0;
  unsigned release = 0;
  H5get_libversion(&major, &minor, &release);
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(release);
}

}  // namespace attnscope::h5
