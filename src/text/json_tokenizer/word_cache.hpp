// Caches the tokens of words that were seen before, because text repeats a few short words.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace rollcall::text::json_tokenizer {

/// A table in which a new word replaces an old one in the same slot. An entry has 64 bytes, which
/// is one cache line, and the table has 4 MiB.
class WordCache {
 public:
  static constexpr std::size_t kLongest = 26, kMostTokens = 8;

  static bool holds(std::string_view word) { return word.size() <= kLongest; }

  /// The tokens of a word; empty if it is not in the table. Words without tokens are not kept.
  std::span<const std::int32_t> find(std::string_view word, std::uint64_t hash) const {
    if (entries_.empty()) return {};
    const Entry& entry = entries_[slot_of(hash)];
    if (entry.count == 0 || entry.length != word.size() ||
        std::memcmp(entry.word, word.data(), word.size()) != 0)
      return {};
    return {entry.tokens, entry.count};
  }

  void insert(std::string_view word, std::uint64_t hash, std::span<const std::int32_t> tokens) {
    if (tokens.empty() || tokens.size() > kMostTokens) return;
    if (entries_.empty()) entries_.resize(kEntries);
    Entry& entry = entries_[slot_of(hash)];
    std::copy(tokens.begin(), tokens.end(), entry.tokens);
    std::memcpy(entry.word, word.data(), word.size());
    entry.length = std::uint8_t(word.size()), entry.count = std::uint8_t(tokens.size());
  }

 private:
  static constexpr std::size_t kEntries = 1 << 16;
  static std::size_t slot_of(std::uint64_t hash) { return std::size_t(hash >> 48); }

  struct alignas(64) Entry {
    std::int32_t tokens[kMostTokens];
    char word[kLongest];
    std::uint8_t length = 0, count = 0;
  };
  std::vector<Entry> entries_;  // empty until the first word comes
};

}  // namespace rollcall::text::json_tokenizer
