// Takes a text through the parts of a tokenizer.json to its tokens, and tokens back to their text.
#include "text/json_tokenizer/json_tokenizer.hpp"

#include "base/errors/error.hpp"
#include "base/numbers/hash.hpp"
#include "text/json_tokenizer/steps/prefix_space.hpp"
#include "text/json_tokenizer/steps/unicode.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rollcall::text::json_tokenizer {
namespace {

Document checked_version(Document document) {
  const auto version = document.root().find("version");
  if (version)
    version->require(version->text() == "1.0",
                     fmt::format("is \"{}\", not \"1.0\"", version->text()));
  return document;
}

std::vector<NormalizerStep> normalizer_of(const Field& root) {
  const auto field = root.find("normalizer");
  return field ? read_normalizer(*field) : std::vector<NormalizerStep>();
}

PreTokenizer pre_tokenizer_of(const Field& root, bool allow_bytes) {
  const auto field = root.find("pre_tokenizer");
  return field ? read_pre_tokenizer(*field, allow_bytes) : PreTokenizer();
}

Surroundings surroundings_of(const Field& root) {
  const auto field = root.find("post_processor");
  return field ? read_post_processor(*field) : Surroundings();
}

std::optional<std::vector<DecoderStep>> decoder_of(const Field& root) {
  const auto field = root.find("decoder");
  return field ? std::optional(read_decoder(*field)) : std::nullopt;
}

}  // namespace

JsonTokenizer::JsonTokenizer(const std::string& json, const std::string& origin,
                             const StatedTokens& stated)
    : JsonTokenizer(checked_version(parse_document(json, origin)), json, stated) {}

JsonTokenizer::JsonTokenizer(Document document, const std::string& json, const StatedTokens& stated)
    : origin_(document.origin),
      is_prefix_changed_(apply_prefix_space(document, stated)),
      model_(document),
      normalizer_(normalizer_of(document.root())),
      added_(document.root(), model_.vocabulary(), normalizer_, stated),
      pre_tokenizer_(pre_tokenizer_of(document.root(), model_.takes_bytes())),
      around_(surroundings_of(document.root())),
      decoder_(decoder_of(document.root())),
      digest_(Sha256().add("rollcall tokenizer.json 1 ").add(json).hex()) {
  const std::string changes =
      added_.stated() +
      (is_prefix_changed_
           ? fmt::format("prefix {:d};",
                         stated.prefix_space.value_or(stated.class_prefix_space.value_or(false)))
           : "");
  if (!changes.empty()) digest_ = Sha256().add(digest_).add(changes).hex();
}

std::unique_ptr<EncodeSpace> EncodeSpacePool::take() {
  const std::lock_guard lock(mutex_);
  if (spaces_.empty()) return std::make_unique<EncodeSpace>();
  auto space = std::move(spaces_.back());
  spaces_.pop_back();
  return space;
}

void EncodeSpacePool::give_back(std::unique_ptr<EncodeSpace> space) {
  const std::lock_guard lock(mutex_);
  spaces_.push_back(std::move(space));
}

void JsonTokenizer::encode_normalized(Piece piece, EncodeSpace& space,
                                      std::vector<std::int32_t>& tokens) const {
  const auto alphabet =
      pre_tokenizer_.ends_in_bytes ? Bpe::Alphabet::bytes : Bpe::Alphabet::characters;
  pre_tokenize(pre_tokenizer_, piece,
               [&](Piece word) { model_.encode(word.text, alphabet, space, tokens); });
}

void JsonTokenizer::encode_original(std::string_view text, bool starts_original, EncodeSpace& space,
                                    std::vector<std::int32_t>& tokens) const {
  Normalized changed;
  if (!normalizer_.empty()) {
    changed = {std::string(text), starts_original};
    for (const auto& step : normalizer_) {
      if (!changed.text.empty()) step(changed);
    }
    text = changed.text, starts_original = changed.starts_original;
  }
  added_.split(
      text, AddedTokens::Stage::normalized, [&](std::string_view part, const AddedToken* token) {
        if (token != nullptr) tokens.push_back(token->id);
        else
          encode_normalized({part, starts_original && part.data() == text.data()}, space, tokens);
      });
}

void JsonTokenizer::encode(std::string_view text, EncodeSpace& space,
                           std::vector<std::int32_t>& tokens) const {
  added_.split(text, AddedTokens::Stage::original,
               [&](std::string_view part, const AddedToken* token) {
                 if (token != nullptr) tokens.push_back(token->id);
                 else encode_original(part, part.data() == text.data(), space, tokens);
               });
}

std::vector<std::int32_t> JsonTokenizer::encode(std::string_view text) const {
  std::string replaced;
  if (!is_valid_utf8(text)) replaced = replace_invalid_utf8(text), text = replaced;
  std::vector<std::int32_t> tokens;
  tokens.reserve(text.size() / 4 + 8);
  auto space = spaces_.take();
  encode(text, *space, tokens);
  spaces_.give_back(std::move(space));
  return tokens;
}

std::int64_t JsonTokenizer::operations(std::string_view text) const {
  EncodeSpace space;
  std::vector<std::int32_t> tokens;
  encode(text, space, tokens);
  return space.merging.operations;
}

std::vector<std::int32_t> JsonTokenizer::encode_sequence(std::string_view text) const {
  std::vector<std::int32_t> tokens = around_.before;
  const auto body = encode(text);
  tokens.insert(tokens.end(), body.begin(), body.end());
  tokens.insert(tokens.end(), around_.after.begin(), around_.after.end());
  return tokens;
}

const std::string* JsonTokenizer::text_of(std::int32_t id) const {
  const AddedToken* added = added_.find(id);
  return added != nullptr ? &added->pattern : model_.vocabulary().text(id);
}

/// Two kinds of tokens are not settled yet: a byte token, which becomes text only when its run of
/// byte tokens ends, and a token that leaves no text, since it does not end a run.
bool JsonTokenizer::is_settled(std::int32_t token, Special special) const {
  const std::string* text = text_of(token);
  return text != nullptr && (special != Special::skip || !added_.is_special(*text)) &&
         fallback_byte(*text) < 0;
}

std::string JsonTokenizer::decode(std::span<const std::int32_t> tokens, Special special) const {
  Texts texts;
  texts.reserve(tokens.size());
  for (const std::int32_t id : tokens) {
    require(id >= 0, fmt::format("{} is no token", id), "ids count from 0",
            "use the tokens that a tokenizer or a model gave");
    const std::string* text = text_of(id);
    if (text == nullptr || (special == Special::skip && added_.is_special(*text))) continue;
    texts.push_back(*text);
  }
  if (decoder_ && !texts.empty()) {
    for (const auto& step : *decoder_) step(texts);
  }
  std::string joined;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (!decoder_ && i > 0) joined += ' ';
    joined += texts[i];
  }
  return joined;
}

std::int64_t JsonTokenizer::vocab_size() const {
  std::int64_t size = std::max(model_.vocabulary().end(), added_.end());
  for (const auto* around : {&around_.before, &around_.after})
    for (const std::int32_t token : *around) size = std::max(size, std::int64_t(token) + 1);
  return size;
}

std::int32_t JsonTokenizer::eos() const {
  require(eos_.has_value(), fmt::format("{} names no token that ends a text", origin_),
          "a response could not end", "put eos_token into tokenizer_config.json beside it");
  return *eos_;
}

std::string JsonTokenizer::fingerprint() const {
  return eos_ ? Sha256().add(digest_).add(fmt::format(" eos {}", *eos_)).hex() : digest_;
}

bool JsonTokenizer::has_row(std::int32_t id) const {
  const AddedToken* token = added_.find(id);
  return token == nullptr || token->has_row;
}

std::optional<std::int32_t> JsonTokenizer::find(const std::string& token) const {
  if (const auto added = added_.find(token)) return added;
  const std::int32_t id = model_.vocabulary().find(token);
  return id < 0 ? std::nullopt : std::optional(id);
}

}  // namespace rollcall::text::json_tokenizer
