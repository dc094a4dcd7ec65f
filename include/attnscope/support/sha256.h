// File: sha256.h
// SHA-256 by libcrypto.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace attnscope {

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;
  void update(const void* data, std::size_t bytes);
  void update(std::string_view text) { update(text.data(), text.size()); }
  // 64 lower-case hex digits. The object must not be used afterwards.
  std::string finish();

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

std::string sha256_of(std::string_view text);

// Hash of a whole file. With a hash cache (see src/support/README.md) the hash of an unchanged
// file, told by device, inode, size and modification time, is remembered between processes.
std::string sha256_of_file(const std::string& path, const std::string& code);

}  // namespace attnscope
