// Text to tokens and back: what every tokenizer offers, and the two built-in ones.
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

  /// Tokens of the text and nothing around it. Added tokens spelt out in the text ("<|im_end|>")
  /// become their ids, as in Hugging Face's tokenizers.
  virtual std::vector<std::int32_t> encode(std::string_view text) const = 0;

  /// The same as a sequence of its own: with the tokens that the tokenizer puts around one (a
  /// beginning-of-sequence token; for some models none).
  virtual std::vector<std::int32_t> encode_sequence(std::string_view text) const = 0;

  enum class Special {
    skip,
    keep,
    /// Keeps those whose text encode() reads as them; the built-in tokenizers have none of that
    /// kind.
    spelt
  };
  /// Special tokens leave no text unless they are kept. Ids that stand for no token (padding of a
  /// model's vocabulary) leave no text either.
  /// Throws InputError on a negative id.
  virtual std::string decode(std::span<const std::int32_t> tokens,
                             Special special = Special::skip) const = 0;

  /// Whether the text of tokens that end with this one stays as it is whatever follows, an
  /// unfinished character at its end aside. Not so where a decoder judges a run of tokens at its
  /// end.
  virtual bool is_settled(std::int32_t, Special) const { return true; }

  virtual std::int64_t vocab_size() const = 0;  ///< largest id + 1
  virtual std::int32_t eos() const = 0;         ///< ends a response
  virtual std::string name() const = 0;
  virtual std::string fingerprint() const = 0;  ///< hex digest of vocabulary and rules: part of the
                                                ///< run identity
};

/// "character": printable ASCII (tokens 0..94) and newline (95), everything else as UTF-8 bytes
/// through 256 fallback tokens (96..351); bos 352, eos 353. "byte": the 256 bytes; bos 256, eos
/// 257. Throws ConfigError naming the nearest.
std::unique_ptr<Tokenizer> make_tokenizer(const std::string& name);
std::vector<std::string> tokenizer_names();

}  // namespace rollcall::text
