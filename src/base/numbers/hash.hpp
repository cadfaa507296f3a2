// Checksums (xxHash), which notice accidental damage, and digests (SHA-256), by which people
// compare files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace rollcall {

/// XXH3 64 bit
std::uint64_t checksum64(std::span<const std::byte> bytes, std::uint64_t seed = 0);
std::uint64_t checksum64(std::string_view text, std::uint64_t seed = 0);
/// XXH3 of a whole plain file. Throws InputError or UnreadableError as read_file() does, and
/// InputError for a file that is not plain.
std::uint64_t file_checksum64(const std::filesystem::path& path);
std::string hex64(std::uint64_t value);  ///< 16 lower-case hex digits

/// XXH3 64 bit of bytes that come in pieces.
class Checksum64 {
 public:
  Checksum64();
  ~Checksum64();
  Checksum64(const Checksum64&) = delete;
  Checksum64& operator=(const Checksum64&) = delete;
  Checksum64& add(std::span<const std::byte> bytes);
  std::uint64_t value() const;  ///< the checksum of the bytes so far
  void restart();

 private:
  void* state_;
};

/// Streaming SHA-256.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;
  Sha256& add(std::span<const std::byte> bytes);
  Sha256& add(std::string_view text);
  std::string hex();  ///< 64 lower-case hex digits; ends the stream

 private:
  void* context_;
};

}  // namespace rollcall
