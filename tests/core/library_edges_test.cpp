#include <gtest/gtest.h>

#include "attnscope/core/boundary.h"
#include "attnscope/core/device.h"
#include "attnscope/core/shape_check.h"
#include "attnscope/core/tensor_convert.h"
#include "attnscope/support/error.h"

namespace attnscope {
namespace {

template <typename Function>
Error error_of(Function&& function) {
  try {
    function();
  } catch (const Error& error) {
    return error;
  }
  return Error(ErrorKind::internal, "none", {.what = "no error"});
}

TEST(ExpectShape, NamesWhatItExpects) {
  const Error error = error_of([] {
    expect_shape(at::zeros({2, 12, 7, 6}), "pattern", {{"b", 2}, {"h", 12}, {"q", 7}, {"k", 7}});
  });
  EXPECT_EQ(error.kind(), ErrorKind::input);
  EXPECT_NE(std::string(error.what())
                .find("pattern: the tensor has another shape; expected [b=2 h=12 q=7 k=7], got "
                      "[2 12 7 6]"),
            std::string::npos)
      << error.what();
  EXPECT_NO_THROW(expect_shape(at::zeros({1, 3}), "x", {{"b", 1}, {"m", 3}}));
  EXPECT_THROW(expect_shape(at::Tensor(), "x", {{"b", 1}}), Error);
}

TEST(Boundary, LibraryErrorsBecomeOneLine) {
  const Error error = error_of([] {
    at_boundary("a product", [] { return at::mm(at::zeros({2, 3}), at::zeros({2, 3})); });
  });
  EXPECT_EQ(error.kind(), ErrorKind::internal);
  const std::string text = error.what();
  EXPECT_NE(text.find("a product"), std::string::npos);
  EXPECT_EQ(text.find('\n'), std::string::npos);
  EXPECT_LT(text.size(), 400u);
}

TEST(Boundary, MemoryThatRunsOutIsALimit) {
  const Error library =
      error_of([] { at_boundary("x", [] { return at::empty({std::int64_t{1} << 50}); }); });
  EXPECT_EQ(library.exit_code(), 4) << library.what();
  const Error allocator =
      error_of([] { at_boundary("x", []() -> int { throw std::bad_alloc(); }); });
  EXPECT_EQ(allocator.exit_code(), 4);
}

// What LibTorch's allocator and the CUDA driver say.
TEST(Boundary, MemoryOfAGpuThatRunsOutIsALimit) {
  const c10::SourceLocation here = {"", "", 0};
  const std::string said = "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has no more";
  const Error library = error_of([&] {
    at_boundary("layer 7", [&]() -> int { throw c10::OutOfMemoryError(here, said + "\nat x"); });
  });
  EXPECT_EQ(library.exit_code(), 4);
  EXPECT_EQ(library.detail().where, "layer 7");
  EXPECT_EQ(library.detail().got, said);
  const Error driver = error_of([&] {
    at_boundary("x", [&]() -> int { throw c10::Error(here, "CUDA error: out of memory"); });
  });
  EXPECT_EQ(driver.exit_code(), 4);
}

TEST(Boundary, OwnErrorsPassThrough) {
  const Error error = error_of([] {
    at_boundary("x", []() -> int { throw Error(ErrorKind::input, "XX01", {.what = "mine"}); });
  });
  EXPECT_EQ(error.code(), "XX01");
}

TEST(Device, ReadsTheForms) {
  EXPECT_TRUE(parse_device("cpu").is_cpu());
  EXPECT_NO_THROW(parse_device("auto"));
  for (const char* bad : {"", "gpu", "cuda:", "cuda:x", "cuda:-1", "CPU"}) {
    EXPECT_EQ(error_of([&] { parse_device(bad); }).exit_code(), 2) << bad;
  }
}

TEST(Device, AGpuThatIsNotThereIsNeverReplacedSilently) {
  if (at::hasCUDA()) GTEST_SKIP() << "this machine's LibTorch knows CUDA";
  for (const char* device : {"cuda", "cuda:0", "cuda:3", "cuda:99", "cuda:4000000000"}) {
    const Error error = error_of([&] { parse_device(device); });
    EXPECT_EQ(error.exit_code(), 3) << device;
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
  }
}

TEST(TensorConvert, ViewsShareMemoryAndCopiesDoNot) {
  at::Tensor tensor = at::arange(6, at::TensorOptions(at::kFloat)).view({2, 3}).t();
  const TensorView view = view_of(tensor);
  EXPECT_EQ(view.data, tensor.const_data_ptr());
  EXPECT_EQ(view.rank, 2);
  EXPECT_EQ(view.shape[0], 3);
  EXPECT_EQ(view.strides[0], 1);
  EXPECT_EQ(view.strides[1], 3);
  EXPECT_FALSE(view.is_contiguous());
  const at::Tensor copy = tensor_from(view);
  tensor.zero_();
  EXPECT_TRUE(at::equal(copy, at::tensor({0.f, 3.f, 1.f, 4.f, 2.f, 5.f}).view({3, 2})));
}

TEST(TensorConvert, TypesGoBothWays) {
  for (const DType dtype : {DType::f16, DType::bf16, DType::f32, DType::f64, DType::i32, DType::i64,
                            DType::u8, DType::boolean}) {
    const at::Tensor tensor = at::zeros({1}, at::TensorOptions(scalar_type(dtype)));
    EXPECT_EQ(dtype_of(tensor), dtype);
    EXPECT_EQ(static_cast<std::size_t>(tensor.element_size()), dtype_size(dtype));
  }
}

}  // namespace
}  // namespace attnscope
