// The tokens of a model, found by text or by id.
#pragma once

#include "text/json_tokenizer/document.hpp"

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace rollcall::text::json_tokenizer {

/// A hash that multiplies eight bytes at a time. It is for tables in memory and is never stored.
inline std::uint64_t hash_bytes(std::string_view bytes) {
  constexpr std::uint64_t kMix = 0x9E3779B97F4A7C15ULL;  // 2^64 / golden ratio
  std::uint64_t hash = bytes.size() * kMix, word = 0;
  const char* at = bytes.data();
  std::size_t left = bytes.size();
  const auto add = [&] {
    hash = (hash ^ word) * kMix;
    hash ^= hash >> 32;
  };
  for (; left >= 8; at += 8, left -= 8) std::memcpy(&word, at, 8), add();
  word = 0;
  if (left >= 4) {
    std::uint32_t head = 0, tail = 0;
    std::memcpy(&head, at, 4), std::memcpy(&tail, at + left - 4, 4);
    word = std::uint64_t(head) << 32 | tail;
  } else if (left > 0) {
    word = std::uint64_t(static_cast<unsigned char>(at[0])) << 16 |
           std::uint64_t(static_cast<unsigned char>(at[left / 2])) << 8 |
           static_cast<unsigned char>(at[left - 1]);
  }
  add();
  return hash;
}

/// Finds ids by text, with open addressing. The table does not own the strings, which must not
/// move.
class TextTable {
 public:
  explicit TextTable(std::size_t count);
  std::int32_t find(std::string_view text) const;       ///< -1 if it is not there
  bool insert(std::string_view text, std::int32_t id);  ///< false if it is there already
 private:
  struct Slot {
    std::string_view text;
    std::int32_t id = -1;
  };
  std::size_t slot_of(std::string_view text) const;
  std::vector<Slot> slots_;  // a power of two, at most half full
};

class Vocabulary {
 public:
  /// Throws InputError if two tokens have the same text or the same id.
  explicit Vocabulary(Document& document);
  Vocabulary(const Vocabulary&) = delete;
  Vocabulary& operator=(const Vocabulary&) = delete;

  /// The id of the token with that text; -1 if there is none.
  std::int32_t find(std::string_view text) const { return table_.find(text); }
  const std::string* text(std::int32_t id) const;                         ///< null if there is none
  std::int32_t size() const { return std::int32_t(tokens_.size()); }      ///< number of tokens
  std::int32_t end() const { return std::int32_t(token_of_id_.size()); }  ///< largest id + 1
  const std::vector<std::pair<std::string, std::int32_t>>& tokens() const { return tokens_; }

 private:
  std::vector<std::pair<std::string, std::int32_t>> tokens_;
  TextTable table_;
  std::vector<std::int32_t> token_of_id_;  // [id] its place in tokens_; -1 if no token has the id
};

}  // namespace rollcall::text::json_tokenizer
