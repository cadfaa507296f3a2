// xxHash and OpenSSL behind two small interfaces.
#include "base/hash.hpp"

#include "base/error.hpp"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <xxhash.h>

#include <cstdio>
#include <memory>
#include <vector>

namespace rollcall {

std::uint64_t checksum64(std::span<const std::byte> bytes, std::uint64_t seed) { return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed); }
std::uint64_t checksum64(std::string_view text, std::uint64_t seed) { return XXH3_64bits_withSeed(text.data(), text.size(), seed); }
std::string hex64(std::uint64_t value) { return fmt::format("{:016x}", value); }

std::uint64_t file_checksum64(const std::filesystem::path& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
  require(file != nullptr, fmt::format("cannot open {}", path.string()), "its checksum is needed", "check that it exists and is readable");
  const std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> state(XXH3_createState(), &XXH3_freeState);
  XXH3_64bits_reset(state.get());
  std::vector<char> buffer(1 << 20);
  while (const std::size_t n = std::fread(buffer.data(), 1, buffer.size(), file.get())) XXH3_64bits_update(state.get(), buffer.data(), n);
  require<StorageError>(!std::ferror(file.get()), fmt::format("cannot read {}", path.string()), "its checksum is needed", "check the file system");
  return XXH3_64bits_digest(state.get());
}

Sha256::Sha256() : context_(EVP_MD_CTX_new()) { expect(EVP_DigestInit_ex(static_cast<EVP_MD_CTX*>(context_), EVP_sha256(), nullptr) == 1, "SHA-256 starts"); }
Sha256::~Sha256() { EVP_MD_CTX_free(static_cast<EVP_MD_CTX*>(context_)); }

Sha256& Sha256::add(std::span<const std::byte> bytes) {
  expect(EVP_DigestUpdate(static_cast<EVP_MD_CTX*>(context_), bytes.data(), bytes.size()) == 1, "SHA-256 takes bytes");
  return *this;
}

Sha256& Sha256::add(std::string_view text) { return add(std::as_bytes(std::span(text.data(), text.size()))); }

std::string Sha256::hex() {
  unsigned char digest[32];
  expect(EVP_DigestFinal_ex(static_cast<EVP_MD_CTX*>(context_), digest, nullptr) == 1, "SHA-256 ends");
  std::string text;
  for (const unsigned char byte : digest) text += fmt::format("{:02x}", byte);
  return text;
}

}  // namespace rollcall
