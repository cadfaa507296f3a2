// A tokenizer of bytes with special tokens that a text can spell, as a tokenizer.json of a chat
// model has them.
#pragma once

#include "text/tokenizer/tokenizer.hpp"

#include <algorithm>

namespace rollcall::text {

class Spelling : public Tokenizer {
 public:
  static constexpr std::int32_t kFirst = 300, kBegin = 299;
  /// Special token i is kFirst + i; the first of them ends an answer.
  explicit Spelling(std::vector<std::string> special) : special_(std::move(special)) {}

  std::vector<std::int32_t> encode(std::string_view text) const override {
    std::vector<std::int32_t> tokens;
    while (!text.empty()) {
      const auto one = std::find_if(special_.begin(), special_.end(),
                                    [&](const std::string& s) { return text.starts_with(s); });
      const bool found = one != special_.end();
      tokens.push_back(found ? kFirst + std::int32_t(one - special_.begin())
                             : std::int32_t(static_cast<unsigned char>(text.front())));
      text.remove_prefix(found ? one->size() : 1);
    }
    return tokens;
  }
  std::vector<std::int32_t> encode_sequence(std::string_view text) const override {
    auto tokens = encode(text);
    tokens.insert(tokens.begin(), kBegin);
    return tokens;
  }
  std::string decode(std::span<const std::int32_t> tokens,
                     Special special = Special::skip) const override {
    std::string text;
    for (const auto token : tokens) {
      if (token < 256) text += char(token);
      else if (token >= kFirst && special != Special::skip)
        text += special_.at(std::size_t(token - kFirst));
    }
    return text;
  }
  std::int64_t vocab_size() const override { return kFirst + std::int64_t(special_.size()); }
  std::int32_t eos() const override { return kFirst; }
  std::string name() const override { return "spelling"; }
  std::string fingerprint() const override { return "f"; }

 private:
  std::vector<std::string> special_;
};

}  // namespace rollcall::text
