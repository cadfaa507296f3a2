// A Tokenizer over tokenizer.json: added tokens, normalizers, pre-tokenizers, BPE, and decoders the
// other way.
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

class JsonTokenizer final : public Tokenizer {
 public:
  /// `stated`: what the files beside tokenizer.json say.
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

  std::optional<std::int32_t> find(const std::string& token) const;  ///< its id
  bool appends() const {
    return added_.appends();
  }                                     ///< there are tokens that tokenizer.json does
                                        ///< not have
  bool has_row(std::int32_t id) const;  ///< false: the model has no embedding for that token
  void set_eos(std::int32_t id) { eos_ = id; }
  /// What merging the text took, in looks at pairs: grows as n log n. For tests.
  std::int64_t operations(std::string_view text) const;

 private:
  JsonTokenizer(Document document, const std::string& json, const StatedTokens& stated);
  void encode(std::string_view text, EncodeSpace& space, std::vector<std::int32_t>& tokens) const;
  void encode_original(std::string_view text, bool starts_original, EncodeSpace& space,
                       std::vector<std::int32_t>& tokens) const;
  void encode_normalized(Piece piece, EncodeSpace& space, std::vector<std::int32_t>& tokens) const;
  std::unique_ptr<EncodeSpace> take_space() const;
  const std::string* text_of(std::int32_t id) const;  ///< null: no token
  void return_space(std::unique_ptr<EncodeSpace> space) const;

  std::string origin_;
  bool is_prefix_changed_;
  Bpe model_;
  std::vector<NormalizerStep> normalizer_;
  AddedTokens added_;
  PreTokenizer pre_tokenizer_;
  Surroundings around_;
  std::optional<std::vector<DecoderStep>> decoder_;
  std::optional<std::int32_t> eos_;
  std::string digest_;  // of the file, and of what the others change
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<EncodeSpace>> spaces_;  // not in use now
};

}  // namespace rollcall::text::json_tokenizer
