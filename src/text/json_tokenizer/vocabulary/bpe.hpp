// The BPE model: a word's bytes or characters to symbols, symbols merged to tokens.
#pragma once

#include "text/json_tokenizer/fields.hpp"
#include "text/json_tokenizer/vocabulary/merges.hpp"
#include "text/json_tokenizer/vocabulary/vocabulary.hpp"
#include "text/json_tokenizer/word_cache.hpp"

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rollcall::text::json_tokenizer {

/// What a call of encode() works with; taken from a pool, since tokenizers are shared by threads.
struct EncodeSpace {
  std::vector<std::int32_t> symbols;
  MergeSpace merging;
  WordCache cache;
};

class Bpe {
 public:
  /// Throws InputError naming the place: another type of model, dropout, merges of tokens that are
  /// none.
  explicit Bpe(Document& document);

  const Vocabulary& vocabulary() const { return vocabulary_; }

  /// Words may come as bytes where each byte is a symbol of its own, in GPT-2's alphabet, and
  /// nothing is put before or behind symbols.
  bool takes_bytes() const { return takes_bytes_; }

  enum class Alphabet { characters, bytes };
  /// Appends the tokens of one word (valid UTF-8, or any bytes).
  void encode(std::string_view word, Alphabet alphabet, EncodeSpace& space,
              std::vector<std::int32_t>& to) const;

 private:
  void read_merges(Document& document);
  void read_bytes();
  void symbols_of_characters(std::string_view word, std::vector<std::int32_t>& symbols) const;
  void merge(std::string_view word, Alphabet alphabet, EncodeSpace& space) const;

  Vocabulary vocabulary_;
  MergeTable merges_;
  std::string prefix_, suffix_;  // continuing_subword_prefix, end_of_word_suffix
  std::int32_t unknown_ = -1;
  bool fuse_unknown_ = false, byte_fallback_ = false, ignore_merges_ = false, takes_bytes_ = false;
  std::array<std::int32_t, 256> token_of_byte_{};  // of its character in GPT-2's alphabet; -1: none
  std::array<std::int32_t, 256> fallback_of_byte_{};  // of "<0x00>" to "<0xFF>"; -1: none
  std::vector<std::string> spelt_;                    // tokens as bytes, for ignore_merges
  std::unique_ptr<TextTable> token_of_bytes_;
};

}  // namespace rollcall::text::json_tokenizer
