// Text to tokens and back. Any UTF-8 text survives the round trip; invalid UTF-8 does too, byte by byte.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rollcall::text {

/// The interface that tokenizer.json will fill as well.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  virtual std::vector<std::int32_t> encode(std::string_view text) const = 0;
  virtual std::string decode(
      std::span<const std::int32_t> tokens) const = 0;  ///< special tokens leave no text; throws InputError on an id outside the vocabulary
  virtual std::int64_t vocab_size() const = 0;
  virtual std::int32_t bos() const = 0;  ///< begins every sequence
  virtual std::int32_t eos() const = 0;  ///< ends a response
  virtual std::string name() const = 0;
  virtual std::string fingerprint() const = 0;  ///< hex digest of vocabulary and rules: part of the run identity
};

/// "character": printable ASCII (tokens 0..94) and newline (95), everything else as UTF-8 bytes through 256 fallback tokens (96..351); bos 352, eos 353.
/// "byte": the 256 bytes; bos 256, eos 257. Throws ConfigError naming the nearest.
std::unique_ptr<Tokenizer> make_tokenizer(const std::string& name);
std::vector<std::string> tokenizer_names();

}  // namespace rollcall::text
