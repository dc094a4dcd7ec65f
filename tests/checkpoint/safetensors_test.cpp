// Malformed and odd safetensors files, each with the error it must give. The bytes are made here
// and by the format's own test-suite (tests/fixtures/malformed/safetensors).
#include "attnscope/checkpoint/safetensors.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <thread>

#include "checkpoint_files.h"
#include "testing/fixtures.h"
#include "testing/temp_folder.h"

namespace attnscope::testing {
namespace {

constexpr const char* kGood = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";

// One tensor "a" with the given inner text.
std::string one(const std::string& inner) {
  return "{\"a\":{" + inner + "}}";
}
std::string fields(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return one("\"dtype\":\"" + dtype + "\",\"shape\":" + shape + ",\"data_offsets\":" + offsets);
}

std::string little_endian(std::uint64_t n) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>((n >> (8 * i)) & 0xFF);
  return bytes;
}

std::string repeated(const std::string& text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

struct BadFile {
  const char* name;
  std::string bytes;
  const char* code;
  const char* says;  // part of the message
  int exit = 2;
};

std::string many_tensors(int n) {
  std::string header = "{";
  for (int i = 0; i < n; ++i) {
    header += (i == 0 ? "\"t" : ",\"t") + std::to_string(i) +
              R"(":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  }
  return header + "}";
}

std::vector<BadFile> bad_files() {
  const std::string eight(8, '\0');
  const auto file = [](const std::string& header, std::size_t data) {
    return safetensors_bytes(header, std::string(data, '\0'));
  };
  return {
      {"empty", "", "ST01", "0 bytes"},
      {"seven bytes", std::string(7, '\0'), "ST01", "7 bytes"},
      {"length 2^63", little_endian(1ULL << 63) + kGood, "ST03", "9223372036854775808"},
      {"length 2^64-1", little_endian(~0ULL) + kGood, "ST03", "18446744073709551615"},
      {"length 100,000,001", little_endian(100'000'001) + kGood, "ST03", "100000000"},
      {"length beyond the file", little_endian(60) + kGood, "ST02", "longer than the file"},
      {"no header", file("", 0), "ST04", "does not start with {"},
      {"an array", file("[1]", 0), "ST04", "does not start with {"},
      {"a byte order mark", file(std::string("\xEF\xBB\xBF") + kGood, 8), "ST04", "{"},
      {"bad UTF-8", file("{\"\xFF\":1}", 0), "ST05", "at byte 10"},
      {"a surrogate", file("{\"\xED\xA0\x80\":1}", 0), "ST05", "at byte 10"},
      {"truncated JSON", file(R"({"a":{"dtype":"F32")", 0), "ST06", "at byte"},
      {"text after the object", file(std::string(kGood) + "x", 8), "ST06", "at byte"},
      {"two objects", file("{}{}", 0), "ST06", "at byte"},
      {"NUL after the object", file(std::string("{}") + '\0', 0), "ST06", "at byte 10"},
      {"100,000 arrays", file("{\"a\":{\"shape\":" + repeated("[", 100'000), 0), "ST07",
       "too deep"},
      {"100,000 objects", file(repeated("{\"a\":", 100'000), 0), "ST20", "unknown key"},
      {"a tensor that is a number", file(R"({"a":1})", 0), "ST06", "an object"},
      {"a tensor that is null", file(R"({"a":null})", 0), "ST06", "null"},
      {"a tensor that is an array", file(R"({"a":[1]})", 0), "ST06", "an array"},
      {"duplicate tensor",
       file(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
            R"("a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
            8),
       "ST08", "\"a\" appears twice"},
      {"duplicate dtype",
       file(one(R"("dtype":"F32","dtype":"F32","shape":[2],"data_offsets":[0,8])"), 8), "ST08",
       "\"dtype\" appears twice"},
      {"duplicate __metadata__", file(R"({"__metadata__":{},"__metadata__":{}})", 0), "ST08",
       "__metadata__"},
      {"F8_E4M3", file(fields("F8_E4M3", "[8]", "[0,8]"), 8), "ST09", "\"F8_E4M3\""},
      {"I4", file(fields("I4", "[16]", "[0,8]"), 8), "ST09", "F32, F16"},
      {"dtype in small letters", file(fields("f32", "[2]", "[0,8]"), 8), "ST09", "\"f32\""},
      {"negative dimension", file(fields("F32", "[-2]", "[0,8]"), 8), "ST10", "got -2"},
      {"fraction as dimension", file(fields("F32", "[2.0]", "[0,8]"), 8), "ST10", "got 2.0"},
      {"2^63 as dimension", file(fields("F32", "[9223372036854775808]", "[0,8]"), 8), "ST10",
       "9223372036854775808"},
      {"1e400 as dimension", file(fields("F32", "[1e400]", "[0,8]"), 8), "ST06", "at byte"},
      {"text as dimension", file(fields("F32", "[\"2\"]", "[0,8]"), 8), "ST10", "a string"},
      {"negative offset", file(fields("F32", "[2]", "[-8,0]"), 8), "ST10", "data_offsets"},
      {"[2^32,2^32]", file(fields("F32", "[4294967296,4294967296]", "[0,8]"), 8), "ST11",
       "overflows"},
      {"[2,2^62]", file(fields("I8", "[4,4611686018427387904]", "[0,0]"), 0), "ST11", "overflows"},
      {"size times dtype overflows", file(fields("F64", "[4611686018427387904]", "[0,0]"), 0),
       "ST11", "overflows"},
      {"end before begin", file(fields("F32", "[2]", "[8,0]"), 8), "ST12", "8 to 0"},
      {"overlap",
       file(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
            R"("b":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
            8),
       "ST13", "overlaps"},
      {"partial overlap",
       file(R"({"a":{"dtype":"U8","shape":[6],"data_offsets":[0,6]},)"
            R"("b":{"dtype":"U8","shape":[4],"data_offsets":[4,8]}})",
            8),
       "ST13", "overlaps"},
      {"hole at the start", file(fields("U8", "[4]", "[4,8]"), 8), "ST13", "hole"},
      {"hole in the middle",
       file(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
            R"("b":{"dtype":"U8","shape":[4],"data_offsets":[4,8]}})",
            8),
       "ST13", "hole"},
      {"bytes after the last tensor", file(kGood, 9), "ST14", "1 byte after the last tensor"},
      {"data without tensors", file("{}", 4), "ST14", "4 bytes after the last tensor"},
      {"cut download", file(kGood, 5), "ST15", "got 5; download it again?"},
      {"fewer bytes than the shape", file(fields("F32", "[2]", "[0,4]"), 4), "ST16",
       "8 bytes for float32 [2], got 4"},
      {"a name of 1 MB", file("{\"" + std::string(1'000'000, 'n') + "\":{}}", 0), "ST18",
       "1000000 bytes"},
      {"a name of 513 bytes", file("{\"" + std::string(513, 'n') + "\":{}}", 0), "ST18", "513"},
      {"metadata with a number", file(R"({"__metadata__":{"a":1}})", 0), "ST19", "__metadata__"},
      {"metadata with an object", file(R"({"__metadata__":{"a":{}}})", 0), "ST19", "an object"},
      {"metadata that is text", file(R"({"__metadata__":"a"})", 0), "ST06", "a string"},
      {"no dtype", file(one(R"("shape":[2],"data_offsets":[0,8])"), 8), "ST20", "no dtype"},
      {"no shape", file(one(R"("dtype":"F32","data_offsets":[0,8])"), 8), "ST20", "no shape"},
      {"no offsets", file(one(R"("dtype":"F32","shape":[2])"), 8), "ST20", "no data_offsets"},
      {"unknown key", file(one(R"("dtype":"F32","strides":[1])"), 8), "ST20", "strides"},
      {"one offset", file(fields("F32", "[2]", "[8]"), 8), "ST06", "two numbers"},
      {"three offsets", file(fields("F32", "[2]", "[0,8,8]"), 8), "ST06", "two numbers"},
      {"nine dimensions", file(fields("F32", "[1,1,1,1,1,1,1,1,2]", "[0,8]"), 8), "ST21", "8"},
      {"shape that is a number", file(fields("F32", "2", "[0,8]"), 8), "ST06", "shape is"},
      {"dtype that is a number", file(one(R"("dtype":4)"), 8), "ST06", "dtype is"},
      {"300,000 tensors", file(many_tensors(300'000), 0), "ST17", "200000", 4},
  };
}

TEST(BadSafetensors, EachNamesItsCause) {
  const TempFolder folder;
  for (const BadFile& bad : bad_files()) {
    const std::string path = folder.file("model.safetensors");
    write_bytes(path, bad.bytes);
    const Error error = error_of([&] { const SafetensorsFile file(path); });
    EXPECT_EQ(error.code(), bad.code) << bad.name << ": " << error.what();
    EXPECT_EQ(error.exit_code(), bad.exit) << bad.name;
    const std::string text = error.what();
    EXPECT_NE(text.find(bad.says), std::string::npos) << bad.name << ": " << text;
    EXPECT_NE(text.find("model.safetensors"), std::string::npos) << text;
    EXPECT_LT(text.size(), 1000U) << bad.name;
  }
}

TEST(BadSafetensors, EveryPrefixOfAGoodFileIsRefused) {
  const TempFolder folder;
  const std::string good = read_bytes(fixture("malformed/safetensors/ok_basic.safetensors"));
  for (std::size_t n = 0; n < good.size(); ++n) {
    write_bytes(folder.file("a"), good.substr(0, n));
    EXPECT_EQ(error_of([&] { const SafetensorsFile file(folder.file("a")); }).exit_code(), 2) << n;
  }
}

TEST(BadSafetensors, EveryChangedByteOfTheHeaderIsRefusedOrStaysWithinTheData) {
  const std::string good = R"({"a":{"dtype":"F32","shape":[3,2],"data_offsets":[0,24]},)"
                           R"("b":{"dtype":"F16","shape":[2],"data_offsets":[24,28]}})";
  constexpr std::uint64_t kData = 28;
  ASSERT_EQ(parse_safetensors_header(good, kData, "good").size(), 2U);
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (int value = 0; value < 256; ++value) {
      std::string header = good;
      header[at] = static_cast<char>(value);
      try {
        std::uint64_t end = 0;
        for (const StoredTensor& t : parse_safetensors_header(header, kData, "changed")) {
          end = std::max(end, t.offset + t.info.bytes);
        }
        EXPECT_EQ(end, kData) << header;
      } catch (const Error& e) {
        EXPECT_EQ(e.exit_code(), 2) << header;
      }
    }
  }
}

// What the format's own test-suite expects of these files.
TEST(SafetensorsConformance, AgreesWithTheIndex) {
  std::ifstream index(fixture("malformed/safetensors/INDEX.tsv"));
  std::string line;
  std::getline(index, line);
  int files = 0;
  while (std::getline(index, line)) {
    const std::string name = line.substr(0, line.find('\t'));
    const std::string path = fixture("malformed/safetensors/" + name);
    ++files;
    if (name.starts_with("ok_")) {
      EXPECT_NO_THROW(const SafetensorsFile file(path)) << name;
    } else {
      EXPECT_EQ(error_of([&] { const SafetensorsFile file(path); }).exit_code(), 2) << name;
    }
  }
  EXPECT_EQ(files, 18);
}

TEST(GoodSafetensors, AcceptsEmptyAndScalarTensorsAndWhiteSpace) {
  const TempFolder folder;
  const std::string header =
      "  \n{\"e\":{\"dtype\":\"F32\",\"shape\":[0,7],\"data_offsets\":[4,4]},"
      "\"s\":{\"dtype\":\"I32\",\"shape\":[],\"data_offsets\":[0,4]}}   ";
  write_bytes(folder.file("a"), safetensors_bytes(header, std::string("\x2A\0\0\0", 4)));
  const SafetensorsSource source({folder.file("a")});
  ASSERT_EQ(source.tensors().size(), 2U);
  EXPECT_EQ(source.find("e")->bytes, 0U);
  std::int32_t value = 0;
  source.read(*source.find("s"), &value, 4);
  EXPECT_EQ(value, 42);
  EXPECT_EQ(source.find("x"), nullptr);
}

TEST(GoodSafetensors, ReadsEachTypeAndPlace) {
  const TempFolder folder;
  const std::string header = R"({"b":{"dtype":"U8","shape":[2],"data_offsets":[3,5]},)"
                             R"("a":{"dtype":"BOOL","shape":[3],"data_offsets":[0,3]},)"
                             R"("__metadata__":{"format":"pt"}})";
  write_bytes(folder.file("a"), safetensors_bytes(header, "ABCDE"));
  const SafetensorsSource source({folder.file("a")});
  std::string text(2, '\0');
  source.read(*source.find("b"), text.data(), 2);
  EXPECT_EQ(text, "DE");
  EXPECT_EQ(source.find("a")->dtype, DType::boolean);
  for (const char* name : {"F64", "F32", "F16", "BF16", "I64", "I32", "I16", "I8", "U8", "BOOL"}) {
    write_bytes(folder.file("t"), safetensors_file({{"x", {3}, name}}));
    EXPECT_NO_THROW(const SafetensorsFile file(folder.file("t"))) << name;
  }
}

TEST(GoodSafetensors, TakesNamesUpTo512Bytes) {
  const TempFolder folder;
  const std::string name(512, 'n');
  write_bytes(folder.file("a"), safetensors_file({{name, {1}}}));
  EXPECT_NE(SafetensorsSource({folder.file("a")}).find(name), nullptr);
}

TEST(SafetensorsNames, AreEscapedInMessages) {
  const TempFolder folder;
  // NUL, newline, ANSI escape, markup, right-to-left override.
  const std::string hostile = "n\\u0000\\n\\u001b[31m<script>\\u202e";
  write_bytes(folder.file("a"),
              safetensors_bytes("{\"" + hostile +
                                R"(":{"dtype":"F32","shape":[3],"data_offsets":[0,4]}})"));
  const std::string text = error_of([&] { const SafetensorsFile file(folder.file("a")); }).what();
  EXPECT_NE(text.find("ST16"), std::string::npos);
  for (const char c : text) EXPECT_GE(static_cast<unsigned char>(c), 0x20) << text;
  EXPECT_EQ(text.find("\xE2\x80\xAE"), std::string::npos);
  EXPECT_NE(text.find("\\x1B"), std::string::npos) << text;
}

TEST(SafetensorsFiles, MustBeRegular) {
  const TempFolder folder;
  ASSERT_EQ(::mkfifo(folder.file("fifo").c_str(), 0600), 0);
  std::filesystem::create_directory(folder.file("folder"));
  std::filesystem::create_symlink("nowhere", folder.file("dangling"));
  for (const std::string& path :
       {folder.file("fifo"), folder.file("folder"), folder.file("dangling"),
        std::string("/dev/zero"), folder.file("absent")}) {
    const Error error = error_of([&] { const SafetensorsFile file(path); });
    EXPECT_EQ(error.code(), "ST22") << path;
    EXPECT_EQ(error.exit_code(), 2) << path;
  }
}

TEST(SafetensorsFiles, AreReadFromSeveralThreadsAtOnce) {
  const std::string path = fixture("families/llama/model.safetensors");
  const SafetensorsSource source({path});
  const auto read_all = [&source] {
    std::vector<std::vector<char>> values;
    for (const TensorInfo& tensor : source.tensors()) {
      values.emplace_back(tensor.bytes);
      source.read(tensor, values.back().data(), tensor.bytes);
    }
    return values;
  };
  const auto alone = read_all();
  std::vector<std::vector<std::vector<char>>> together(4);
  std::vector<std::thread> threads;
  for (auto& values : together) threads.emplace_back([&] { values = read_all(); });
  for (std::thread& thread : threads) thread.join();
  for (const auto& values : together) EXPECT_TRUE(values == alone);
}

TEST(SafetensorsFiles, CutWhileOpenGiveAnErrorAndNoSignal) {
  const TempFolder folder;
  const std::string path = folder.file("a");
  write_bytes(path, safetensors_file({{"a", {100'000}}}));
  const SafetensorsSource source({path});
  ASSERT_EQ(::truncate(path.c_str(), 5000), 0);
  std::vector<char> data(400'000);
  const Error error = error_of([&] { source.read(*source.find("a"), data.data(), data.size()); });
  EXPECT_EQ(error.code(), "ST22");
  EXPECT_NE(std::string(error.what()).find("ended while it was read"), std::string::npos);
}

// A bad header must be refused before memory is taken for what it promises.
TEST(BadSafetensors, CostNoMemory) {
  const TempFolder folder;
  const auto peak_kib = [] {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
  };
  for (const std::string& bytes :
       {little_endian(1ULL << 63) + kGood, little_endian(99'999'999) + kGood,
        safetensors_bytes(fields("F32", "[1000000000000]", "[0,4000000000000]"))}) {
    write_bytes(folder.file("a"), bytes);
    const auto before = peak_kib();
    EXPECT_EQ(error_of([&] { const SafetensorsFile file(folder.file("a")); }).exit_code(), 2);
    EXPECT_LT(peak_kib() - before, 20 * 1024);
  }
}

}  // namespace
}  // namespace attnscope::testing
