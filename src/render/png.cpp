#include <png.h>

#include <csetjmp>
#include <cstddef>

#include "attnscope/support/error.h"
#include "raster.h"

namespace attnscope::render {
namespace {

constexpr double kCssPixelsPerMetre = 96 / 0.0254;

void append_bytes(png_structp png, png_bytep data, std::size_t size) {
  static_cast<std::string*>(png_get_io_ptr(png))->append(reinterpret_cast<const char*>(data), size);
}

void no_flush(png_structp) {}

[[noreturn]] void fail(const char* what) {
  throw Error(ErrorKind::internal, "RN03",
              {.where = "png", .what = what, .expected = "", .got = "", .next = ""});
}

struct Writer {
  Writer() {
    png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
    info = png == nullptr ? nullptr : png_create_info_struct(png);
    if (info == nullptr) {
      png_destroy_write_struct(&png, nullptr);
      fail("libpng gives no memory");
    }
  }
  ~Writer() { png_destroy_write_struct(&png, &info); }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  png_structp png = nullptr;
  png_infop info = nullptr;
};

}  // namespace

std::string encode_png(const Raster& raster, double pixels_per_unit) {
  std::string bytes;
  Writer writer;
  // libpng reports errors by a long jump; nothing between here and there needs a destructor.
  if (setjmp(png_jmpbuf(writer.png)) != 0) fail("libpng cannot write the picture");
  png_set_write_fn(writer.png, &bytes, append_bytes, no_flush);
  png_set_IHDR(writer.png, writer.info, static_cast<png_uint_32>(raster.width),
               static_cast<png_uint_32>(raster.height), 8, PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_set_sRGB(writer.png, writer.info, PNG_sRGB_INTENT_PERCEPTUAL);
  const auto density = static_cast<png_uint_32>(kCssPixelsPerMetre * pixels_per_unit);
  png_set_pHYs(writer.png, writer.info, density, density, PNG_RESOLUTION_METER);
  png_set_compression_level(writer.png, 6);
  png_write_info(writer.png, writer.info);
  for (int row = 0; row < raster.height; ++row) {
    png_write_row(
        writer.png,
        &raster.pixels[static_cast<std::size_t>(row) * 3 * static_cast<std::size_t>(raster.width)]);
  }
  png_write_end(writer.png, writer.info);
  return bytes;
}

}  // namespace attnscope::render
