// The interface of every tokenizer, which turns text into tokens and back, and the two built-in
// tokenizers.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rollcall::text {

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  /// The tokens of the text alone. Added tokens that the text spells out ("<|im_end|>") become
  /// their ids, as in Hugging Face's tokenizers.
  virtual std::vector<std::int32_t> encode(std::string_view text) const = 0;

  /// The tokens of the text as a sequence, with the tokens that the tokenizer puts around one, such
  /// as a beginning-of-sequence token. Some tokenizers add no tokens.
  virtual std::vector<std::int32_t> encode_sequence(std::string_view text) const = 0;

  enum class Special {
    skip,
    keep,
    /// Keeps the special tokens that encode() finds in their text. The built-in tokenizers have no
    /// such tokens.
    spelt
  };
  /// The text of tokens. Special tokens give no text unless they are kept. Ids without a token,
  /// which pad a model's vocabulary, give no text. Throws InputError for a negative id.
  virtual std::string decode(std::span<const std::int32_t> tokens,
                             Special special = Special::skip) const = 0;

  /// Whether tokens after this one leave the text up to it unchanged, except for an unfinished
  /// character at its end. They may change it if a decoder looks at a whole run of tokens.
  virtual bool is_settled(std::int32_t, Special) const { return true; }

  virtual std::int64_t vocab_size() const = 0;  ///< largest id + 1
  virtual std::int32_t eos() const = 0;         ///< the token that ends a response
  virtual std::string name() const = 0;
  /// Hex digest of vocabulary and rules, which is part of a run's identity.
  virtual std::string fingerprint() const = 0;
};

/// "character" has printable ASCII (tokens 0..94), newline (95), and 256 tokens for the UTF-8 bytes
/// of everything else (96..351); bos is 352, eos 353. "byte" has the 256 bytes; bos is 256, eos
/// 257. Throws ConfigError for any other name, naming the nearest known one.
std::unique_ptr<Tokenizer> make_tokenizer(const std::string& name);
std::vector<std::string> tokenizer_names();

}  // namespace rollcall::text
