#include "attnscope/support/sha256.h"

#include <openssl/evp.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <vector>

#include "attnscope/support/error.h"
#include "attnscope/support/file.h"

namespace attnscope {

struct Sha256::Context {
  EVP_MD_CTX* value = nullptr;
  ~Context() { EVP_MD_CTX_free(value); }
};

Sha256::Sha256() : context_(std::make_unique<Context>()) {
  context_->value = EVP_MD_CTX_new();
  if (context_->value == nullptr ||
      EVP_DigestInit_ex(context_->value, EVP_sha256(), nullptr) != 1) {
    throw Error(ErrorKind::internal, "SH01", {.what = "libcrypto has no SHA-256"});
  }
}

Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

void Sha256::update(const void* data, std::size_t bytes) {
  EVP_DigestUpdate(context_->value, data, bytes);
}

std::string Sha256::finish() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int length = 0;
  EVP_DigestFinal_ex(context_->value, digest.data(), &length);
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out;
  for (unsigned int i = 0; i < length; ++i) {
    out += kHex[digest[i] >> 4];
    out += kHex[digest[i] & 15];
  }
  return out;
}

std::string sha256_of(std::string_view text) {
  Sha256 hash;
  hash.update(text);
  return hash.finish();
}

namespace {

namespace fs = std::filesystem;

// Folder of remembered hashes: ATTNSCOPE_CACHE, else $XDG_CACHE_HOME/attnscope, else
// ~/.cache/attnscope; empty when there is none.
fs::path hash_cache_folder() {
  if (const char* own = std::getenv("ATTNSCOPE_CACHE")) return own;
  if (const char* xdg = std::getenv("XDG_CACHE_HOME"); xdg != nullptr && *xdg != '\0') {
    return fs::path(xdg) / "attnscope";
  }
  if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0') {
    return fs::path(home) / ".cache" / "attnscope";
  }
  return {};
}

bool is_hash(const std::string& text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

}  // namespace

std::string sha256_of_file(const std::string& path, const std::string& code) {
  const InputFile file(path, code);
  const std::string identity = file.identity();
  const fs::path folder = hash_cache_folder();
  const fs::path remembered =
      folder.empty() || identity.empty() ? fs::path{} : folder / ("sha256-" + sha256_of(identity));
  if (!remembered.empty()) {
    std::ifstream in(remembered);
    std::string hash;
    std::string of;
    if (in >> hash >> of && is_hash(hash) && of == identity) return hash;
  }
  Sha256 sha;
  std::vector<char> block(std::size_t{1} << 20);
  for (std::uint64_t at = 0; at < file.size(); at += block.size()) {
    const auto bytes =
        static_cast<std::size_t>(std::min<std::uint64_t>(block.size(), file.size() - at));
    file.read(at, block.data(), bytes);
    sha.update(block.data(), bytes);
  }
  const std::string hash = sha.finish();
  // A file that changed while it was hashed must not be remembered.
  if (!remembered.empty() && file.identity() == identity) {
    std::error_code ignored;
    fs::create_directories(folder, ignored);
    try {
      write_file_atomically(remembered.string(), hash + " " + identity + "\n", WriteMode::replace);
    } catch (const Error&) {
      // A cache that cannot be written costs time, not correctness.
    }
  }
  return hash;
}

}  // namespace attnscope
