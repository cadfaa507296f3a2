// The BPE model: turns a word's bytes or characters into symbols and merges those into tokens.
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

/// Memory that a call of encode() works with, and the words seen before. Threads share a tokenizer,
/// so every call borrows its own space from an EncodeSpacePool.
struct EncodeSpace {
  std::vector<std::int32_t> symbols;
  MergeSpace merging;
  WordCache cache;
};

/// Members of the file's "model" that change how words become symbols.
struct BpeSettings {
  std::string prefix;          ///< continuing_subword_prefix: before every symbol but the first
  std::string suffix;          ///< end_of_word_suffix: after the last symbol
  bool fuse_unknown = false;   ///< fuse_unk: adjacent unknown symbols are one token
  bool byte_fallback = false;  ///< an unknown symbol becomes the tokens of its bytes, "<0x41>"
  bool ignore_merges = false;  ///< a word that is itself a token becomes that token, even if merges
                               ///< would give others
};

class Bpe {
 public:
  /// Throws InputError naming the place: another type of model, dropout, or merges of strings that
  /// are not in the vocabulary. Moves vocabulary and merges out of the document.
  explicit Bpe(Document& document);

  const Vocabulary& vocabulary() const { return vocabulary_; }

  /// Whether encode() accepts words as bytes. It does if each byte is a separate symbol, as in
  /// GPT-2's alphabet, and no prefix or suffix is added to symbols.
  bool takes_bytes() const { return takes_bytes_; }

  enum class Alphabet { characters, bytes };
  /// Appends the tokens of one word, which is valid UTF-8 (`characters`) or any bytes (`bytes`).
  void encode(std::string_view word, Alphabet alphabet, EncodeSpace& space,
              std::vector<std::int32_t>& to) const;

 private:
  void read_merges(Document& document);
  void read_bytes();
  void symbols_of_characters(std::string_view word, std::vector<std::int32_t>& symbols) const;
  void merge(std::string_view word, Alphabet alphabet, EncodeSpace& space) const;

  Vocabulary vocabulary_;
  MergeTable merges_;
  BpeSettings settings_;
  std::int32_t unknown_ = -1;  // id of unk_token; -1: the file names no such token
  bool takes_bytes_ = false;
  // [byte] id of the byte's character in GPT-2's alphabet; -1: it is not in the vocabulary
  std::array<std::int32_t, 256> token_of_byte_{};
  // [byte] id of "<0x00>" to "<0xFF>"; -1: it is not in the vocabulary
  std::array<std::int32_t, 256> fallback_of_byte_{};
  std::vector<std::string> spelt_;             // the vocabulary's texts as bytes, for ignore_merges
  std::unique_ptr<TextTable> token_of_bytes_;  // ids by texts of spelt_
};

}  // namespace rollcall::text::json_tokenizer
