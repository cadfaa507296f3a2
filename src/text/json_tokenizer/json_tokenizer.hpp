// A Tokenizer that follows tokenizer.json. Encoding goes through added tokens, normalizers,
// pre-tokenizers and BPE; decoding goes through the file's decoders.
#pragma once

#include "text/json_tokenizer/steps/decoder.hpp"
#include "text/json_tokenizer/steps/normalizer.hpp"
#include "text/json_tokenizer/steps/post_processor.hpp"
#include "text/json_tokenizer/steps/pre_tokenizer.hpp"
#include "text/json_tokenizer/vocabulary/added_tokens.hpp"
#include "text/json_tokenizer/vocabulary/bpe.hpp"
#include "text/tokenizer/tokenizer.hpp"

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace rollcall::text::json_tokenizer {

/// The EncodeSpaces that are free, because no call of encode() is using them. Any thread may call
/// any function.
class EncodeSpacePool {
 public:
  std::unique_ptr<EncodeSpace> take();  ///< a new one if all are in use
  void give_back(std::unique_ptr<EncodeSpace> space);

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<EncodeSpace>> spaces_;
};

class JsonTokenizer final : public Tokenizer {
 public:
  /// `stated` is what the files beside tokenizer.json say. Throws InputError if the file is faulty
  /// or needs something that is not supported.
  JsonTokenizer(const std::string& json, const std::string& origin,
                const StatedTokens& stated = {});

  std::vector<std::int32_t> encode(std::string_view text) const override;
  std::vector<std::int32_t> encode_sequence(std::string_view text) const override;
  std::string decode(std::span<const std::int32_t> tokens, Special special) const override;
  bool is_settled(std::int32_t token, Special special) const override;
  std::int64_t vocab_size() const override;
  std::int32_t eos() const override;
  std::string name() const override { return origin_; }
  std::string fingerprint() const override;

  /// The token's id; nothing if there is no such token.
  std::optional<std::int32_t> find(const std::string& token) const;
  /// Whether the other files add tokens that tokenizer.json does not have.
  bool appends() const { return added_.appends(); }
  bool has_row(std::int32_t id) const;  ///< false: the model has no embedding for that token
  void set_eos(std::int32_t id) { eos_ = id; }
  /// The number of pairs that were looked up to merge the text, which grows as n log n. Tests use
  /// it.
  std::int64_t operations(std::string_view text) const;

 private:
  JsonTokenizer(Document document, const std::string& json, const StatedTokens& stated);
  void encode(std::string_view text, EncodeSpace& space, std::vector<std::int32_t>& tokens) const;
  void encode_original(std::string_view text, bool starts_original, EncodeSpace& space,
                       std::vector<std::int32_t>& tokens) const;
  void encode_normalized(Piece piece, EncodeSpace& space, std::vector<std::int32_t>& tokens) const;
  const std::string* text_of(std::int32_t id) const;  // null if no token has this id

  std::string origin_;
  bool is_prefix_changed_;  // another file decides whether text gets a space before it
  Bpe model_;
  std::vector<NormalizerStep> normalizer_;
  AddedTokens added_;
  PreTokenizer pre_tokenizer_;
  Surroundings around_;
  std::optional<std::vector<DecoderStep>> decoder_;
  std::optional<std::int32_t> eos_;
  std::string digest_;  // digest of tokenizer.json and of what the other files change
  mutable EncodeSpacePool spaces_;
};

}  // namespace rollcall::text::json_tokenizer
