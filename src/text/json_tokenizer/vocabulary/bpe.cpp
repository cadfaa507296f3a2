// BPE as in Hugging Face's tokenizers (models/bpe), with unknown symbols, byte fallback, and words
// that are tokens without merges.
#include "text/json_tokenizer/vocabulary/bpe.hpp"

#include "text/json_tokenizer/steps/unicode.hpp"
#include "text/json_tokenizer/vocabulary/byte_alphabet.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rollcall::text::json_tokenizer {
namespace {

/// The model's fields. Refuses the document if the model is not BPE.
Field model_of(const Document& document) {
  const Field model = document.root().at("model");
  if (const auto type = model.find("type")) {
    type->require(type->text() == "BPE",
                  fmt::format("is \"{}\", which is not supported; supported is BPE", type->text()));
  }
  if (!document.has_vocab) model.at("vocab").refuse("is not an object of tokens and ids");
  if (!document.has_merges) model.at("merges").refuse("is not a list");
  return model;
}

Document& checked(Document& document) {
  model_of(document);
  return document;
}

std::string text_or_empty(const Field& model, const char* key) {
  const auto field = model.find(key);
  return field ? field->text() : "";
}

BpeSettings settings_of(const Field& model) {
  BpeSettings settings;
  settings.prefix = text_or_empty(model, "continuing_subword_prefix");
  settings.suffix = text_or_empty(model, "end_of_word_suffix");
  settings.fuse_unknown = model.flag("fuse_unk", false);
  settings.byte_fallback = model.flag("byte_fallback", false);
  settings.ignore_merges = model.flag("ignore_merges", false);
  return settings;
}

}  // namespace

Bpe::Bpe(Document& document) : vocabulary_(checked(document)), merges_(document.merges.size()) {
  const Field model = model_of(document);
  if (const auto dropout = model.find("dropout"))
    dropout->require(dropout->is_zero(), "is not zero: merges would be left out at random");
  settings_ = settings_of(model);
  if (const auto unknown = model.find("unk_token")) {
    unknown_ = vocabulary_.find(unknown->text());
    unknown->require(unknown_ >= 0, fmt::format("\"{}\" is not in model.vocab", unknown->text()));
  }
  read_merges(document);
  read_bytes();
}

void Bpe::read_merges(Document& document) {
  std::string whole;
  std::int32_t rank = 0;
  const auto token = [&](const std::string& text) {
    const std::int32_t id = vocabulary_.find(text);
    if (id < 0)
      refuse(document.origin,
             fmt::format("model.merges[{}] names \"{}\", which is not in model.vocab", rank, text));
    return id;
  };
  for (const auto& [left, right] : document.merges) {
    if (right.size() < settings_.prefix.size())
      refuse(document.origin,
             fmt::format("model.merges[{}] has \"{}\", shorter than continuing_subword_prefix",
                         rank, right));
    whole.assign(left).append(right, settings_.prefix.size());
    const std::int32_t first = token(left), second = token(right);
    merges_.insert(first, second, {rank, token(whole)});
    ++rank;
  }
  document.merges = {};
}

void Bpe::read_bytes() {
  bool complete = true;
  for (std::size_t b = 0; b < 256; ++b) {
    std::string character;
    append_utf8(byte_characters()[b], character);
    token_of_byte_[b] = vocabulary_.find(character);
    complete = complete && token_of_byte_[b] >= 0;
    fallback_of_byte_[b] = vocabulary_.find(fmt::format("<0x{:02X}>", b));
  }
  takes_bytes_ = settings_.prefix.empty() && settings_.suffix.empty() &&
                 (complete || (unknown_ < 0 && !settings_.byte_fallback));
  if (!takes_bytes_ || !settings_.ignore_merges) return;
  std::vector<std::int32_t> ids;
  for (const auto& [text, id] : vocabulary_.tokens()) {
    auto bytes = bytes_of_characters(text);
    if (bytes) spelt_.push_back(std::move(*bytes)), ids.push_back(id);
  }
  token_of_bytes_ = std::make_unique<TextTable>(spelt_.size());
  for (std::size_t i = 0; i < spelt_.size(); ++i) token_of_bytes_->insert(spelt_[i], ids[i]);
}

void Bpe::symbols_of_characters(std::string_view word, std::vector<std::int32_t>& symbols) const {
  std::string changed;
  bool has_unknown = false;  // an unknown symbol was read, and its token is not added yet
  for (std::size_t at = 0; at < word.size();) {
    const std::size_t length = decode(word, at).length;
    std::string_view symbol = word.substr(at, length);
    const bool is_last = at + length == word.size();
    if ((at > 0 && !settings_.prefix.empty()) || (is_last && !settings_.suffix.empty())) {
      changed.assign(at > 0 ? settings_.prefix : "")
          .append(symbol)
          .append(is_last ? settings_.suffix : "");
      symbol = changed;
    }
    at += length;
    const auto flush = [&] {
      if (has_unknown) symbols.push_back(unknown_);
      has_unknown = false;
    };
    if (const std::int32_t id = vocabulary_.find(symbol); id >= 0) {
      flush();
      symbols.push_back(id);
      continue;
    }
    const auto fallback = [&](char byte) {
      return fallback_of_byte_[static_cast<unsigned char>(byte)];
    };
    if (settings_.byte_fallback &&
        std::all_of(symbol.begin(), symbol.end(), [&](char byte) { return fallback(byte) >= 0; })) {
      // The bytes' tokens come before an unknown symbol that is not added yet, as in the library.
      for (const char byte : symbol) symbols.push_back(fallback(byte));
      continue;
    }
    if (unknown_ < 0) continue;
    if (!settings_.fuse_unknown) flush();
    has_unknown = true;
  }
  if (has_unknown) symbols.push_back(unknown_);
}

void Bpe::merge(std::string_view word, Alphabet alphabet, EncodeSpace& space) const {
  auto& symbols = space.symbols;
  symbols.clear();
  if (settings_.ignore_merges) {
    const std::int32_t whole =
        alphabet == Alphabet::bytes ? token_of_bytes_->find(word) : vocabulary_.find(word);
    if (whole >= 0) return symbols.push_back(whole);
  }
  if (alphabet == Alphabet::characters) {
    symbols_of_characters(word, symbols);
  } else {
    for (const char byte : word) {
      const std::int32_t token = token_of_byte_[static_cast<unsigned char>(byte)];
      if (token >= 0) symbols.push_back(token);
    }
  }
  merge_word(merges_, symbols, space.merging);
}

void Bpe::encode(std::string_view word, Alphabet alphabet, EncodeSpace& space,
                 std::vector<std::int32_t>& to) const {
  if (!WordCache::holds(word)) {
    merge(word, alphabet, space);
    to.insert(to.end(), space.symbols.begin(), space.symbols.end());
    return;
  }
  const std::uint64_t hash = hash_bytes(word);
  if (const auto known = space.cache.find(word, hash); !known.empty()) {
    to.insert(to.end(), known.begin(), known.end());
    return;
  }
  merge(word, alphabet, space);
  space.cache.insert(word, hash, space.symbols);
  to.insert(to.end(), space.symbols.begin(), space.symbols.end());
}

}  // namespace rollcall::text::json_tokenizer
