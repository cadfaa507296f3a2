// Two small interfaces to xxHash and OpenSSL.
#include "base/numbers/hash.hpp"

#include "base/errors/error.hpp"
#include "base/files/file.hpp"
#include "base/files/plain_file.hpp"
#include "base/process/uninterrupted.hpp"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <xxhash.h>

#include <cerrno>
#include <memory>
#include <vector>

namespace rollcall {

std::uint64_t checksum64(std::span<const std::byte> bytes, std::uint64_t seed) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}
std::uint64_t checksum64(std::string_view text, std::uint64_t seed) {
  return XXH3_64bits_withSeed(text.data(), text.size(), seed);
}
std::string hex64(std::uint64_t value) { return fmt::format("{:016x}", value); }

std::uint64_t file_checksum64(const std::filesystem::path& path) {
  const auto checked = [&](auto result, const char* action) {
    if (result < 0) reading_failure(action, path, errno);
    return result;
  };
  const Descriptor file(path, kOpenToRead);
  checked(int(file), "open");
  require(what_else(int(file)).empty(),
          fmt::format("{} is {}", path.string(), what_else(int(file))), "a plain file is needed",
          "put the file itself there");
  Checksum64 checksum;
  constexpr std::size_t kBuffer = 1 << 20;
  // Not zeroed: most files are smaller, and zeroing took longer than reading them.
  const auto buffer = std::make_unique_for_overwrite<std::byte[]>(kBuffer);
  while (const auto n =
             checked(uninterrupted([&] { return ::read(file, buffer.get(), kBuffer); }), "read")) {
    checksum.add({buffer.get(), std::size_t(n)});
  }
  return checksum.value();
}

Checksum64::Checksum64() : state_(XXH3_createState()) {
  expect(state_ != nullptr, "there is memory for a checksum");
  restart();
}
Checksum64::~Checksum64() { XXH3_freeState(static_cast<XXH3_state_t*>(state_)); }

Checksum64& Checksum64::add(std::span<const std::byte> bytes) {
  XXH3_64bits_update(static_cast<XXH3_state_t*>(state_), bytes.data(), bytes.size());
  return *this;
}

std::uint64_t Checksum64::value() const {
  return XXH3_64bits_digest(static_cast<const XXH3_state_t*>(state_));
}
void Checksum64::restart() { XXH3_64bits_reset(static_cast<XXH3_state_t*>(state_)); }

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  expect(EVP_DigestInit_ex(static_cast<EVP_MD_CTX*>(context_), EVP_sha256(), nullptr) == 1,
         "SHA-256 starts");
}
Sha256::~Sha256() { EVP_MD_CTX_free(static_cast<EVP_MD_CTX*>(context_)); }

Sha256& Sha256::add(std::span<const std::byte> bytes) {
  expect(EVP_DigestUpdate(static_cast<EVP_MD_CTX*>(context_), bytes.data(), bytes.size()) == 1,
         "SHA-256 takes bytes");
  return *this;
}

Sha256& Sha256::add(std::string_view text) {
  return add(std::as_bytes(std::span(text.data(), text.size())));
}

std::string Sha256::hex() {
  unsigned char digest[32];
  expect(EVP_DigestFinal_ex(static_cast<EVP_MD_CTX*>(context_), digest, nullptr) == 1,
         "SHA-256 ends");
  std::string text;
  for (const unsigned char byte : digest) text += fmt::format("{:02x}", byte);
  return text;
}

}  // namespace rollcall
