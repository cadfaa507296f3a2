// The built-in tokenizers, which have one table from bytes to tokens and one back.
#include "text/tokenizer/tokenizer.hpp"

#include "base/errors/error.hpp"
#include "base/errors/nearest.hpp"
#include "base/numbers/hash.hpp"

#include <fmt/format.h>

#include <array>

namespace rollcall::text {
namespace {

/// Every token is one byte, except the last two, which are bos and eos. UTF-8 is not decoded, so
/// decode() returns exactly the bytes that encode() was given.
class BytewiseTokenizer final : public Tokenizer {
 public:
  /// `bytes[id]` is the byte of token `id`. If two tokens have the same byte, encode() uses the
  /// first.
  BytewiseTokenizer(std::string name, std::vector<unsigned char> bytes)
      : name_(std::move(name)), bytes_(std::move(bytes)) {
    for (std::size_t id = bytes_.size(); id-- > 0;) token_of_[bytes_[id]] = std::int32_t(id);
  }

  std::vector<std::int32_t> encode(std::string_view text) const override {
    std::vector<std::int32_t> tokens;
    tokens.reserve(text.size());
    for (const char c : text) tokens.push_back(token_of_[static_cast<unsigned char>(c)]);
    return tokens;
  }

  std::vector<std::int32_t> encode_sequence(std::string_view text) const override {
    std::vector<std::int32_t> tokens{bos()};
    const auto body = encode(text);
    tokens.insert(tokens.end(), body.begin(), body.end());
    return tokens;
  }

  std::string decode(std::span<const std::int32_t> tokens, Special special) const override {
    std::string text;
    text.reserve(tokens.size());
    for (const std::int32_t id : tokens) {
      require(id >= 0, fmt::format("{} is not a token", id), "ids count from 0",
              "use the tokens that a tokenizer or a model gave");
      if (id < bos()) text += char(bytes_[std::size_t(id)]);
      else if (special == Special::keep && id <= eos()) text += id == bos() ? "<bos>" : "<eos>";
    }
    return text;
  }

  std::int64_t vocab_size() const override { return std::int64_t(bytes_.size()) + 2; }
  std::int32_t eos() const override { return bos() + 1; }
  std::string name() const override { return name_; }

  std::string fingerprint() const override {
    const std::string header =
        fmt::format("rollcall bytewise tokenizer 1; bos {}; eos {}; bytes ", bos(), eos());
    return Sha256().add(header).add(std::as_bytes(std::span(bytes_))).hex();
  }

 private:
  std::int32_t bos() const { return std::int32_t(bytes_.size()); }

  std::string name_;
  std::vector<unsigned char> bytes_;  // [vocab - 2]
  std::array<std::int32_t, 256> token_of_{};
};

std::vector<unsigned char> all_bytes() {
  std::vector<unsigned char> bytes(256);
  for (int b = 0; b < 256; ++b) bytes[std::size_t(b)] = static_cast<unsigned char>(b);
  return bytes;
}

std::vector<unsigned char> characters_then_all_bytes() {
  std::vector<unsigned char> bytes;
  for (unsigned char c = ' '; c <= '~'; ++c) bytes.push_back(c);
  bytes.push_back('\n');
  const auto fallback = all_bytes();
  bytes.insert(bytes.end(), fallback.begin(), fallback.end());
  return bytes;
}

}  // namespace

std::vector<std::string> tokenizer_names() { return {"character", "byte"}; }

std::unique_ptr<Tokenizer> make_tokenizer(const std::string& name) {
  if (name == "character")
    return std::make_unique<BytewiseTokenizer>(name, characters_then_all_bytes());
  require<ConfigError>(name == "byte", fmt::format("text.tokenizer \"{}\" is unknown", name),
                       "prompts could not be turned into tokens",
                       suggest_name(name, tokenizer_names()));
  return std::make_unique<BytewiseTokenizer>(name, all_bytes());
}

}  // namespace rollcall::text
