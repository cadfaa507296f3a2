// Makes the steps of each type of decoder.
#include "text/json_tokenizer/steps/decoder.hpp"

#include "text/json_tokenizer/steps/pattern.hpp"
#include "text/json_tokenizer/steps/unicode.hpp"
#include "text/json_tokenizer/vocabulary/byte_alphabet.hpp"

#include <algorithm>
#include <utility>

namespace rollcall::text::json_tokenizer {
namespace {

using Steps = std::vector<DecoderStep>;

void decode_byte_level(Texts& texts) {
  std::string bytes;
  for (const auto& text : texts) bytes += bytes_of_characters(text).value_or(text);
  texts.assign(1, is_valid_utf8(bytes) ? bytes : replace_invalid_utf8(bytes));
}

}  // namespace

int fallback_byte(const std::string& text) {
  if (text.size() != 6 || text.rfind("<0x", 0) != 0 || text[5] != '>') return -1;
  const auto digit = [](char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                  : -1;
  };
  if (text[3] == '+') return digit(text[4]);  // Rust's from_str_radix accepts a sign
  return digit(text[3]) < 0 || digit(text[4]) < 0 ? -1 : digit(text[3]) * 16 + digit(text[4]);
}

namespace {

/// Replaces runs of byte tokens with their text. A run that is not UTF-8 becomes one U+FFFD per
/// byte.
void decode_byte_fallback(Texts& texts) {
  Texts joined;
  std::string bytes;
  const auto end_run = [&] {
    if (is_valid_utf8(bytes)) joined.push_back(bytes);
    else joined.insert(joined.end(), bytes.size(), "\xEF\xBF\xBD");
    bytes.clear();
  };
  for (auto& text : texts) {
    if (const int byte = fallback_byte(text); byte >= 0) {
      bytes += char(byte);
      continue;
    }
    if (!bytes.empty()) end_run();
    joined.push_back(std::move(text));
  }
  if (!bytes.empty()) end_run();
  texts = std::move(joined);
}

void fuse(Texts& texts) {
  std::string all;
  for (const auto& text : texts) all += text;
  texts.assign(1, std::move(all));
}

Steps read_replace(const Field& field) {
  const auto pattern = Pattern::read(field.at("pattern"));
  const std::string content = field.at("content").text();
  return {[pattern, content](Texts& texts) {
    for (auto& text : texts) text = pattern.replace(text, content);
  }};
}

Steps read_strip(const Field& field) {
  std::string spelt;
  append_utf8(field.at("content").character(), spelt);
  const auto start = field.at("start").count(), stop = field.at("stop").count();
  return {[=](Texts& texts) {
    for (auto& text : texts) {
      std::size_t begin = 0, end = text.size();
      for (std::int64_t i = 0; i < start && text.compare(begin, spelt.size(), spelt) == 0; ++i)
        begin += spelt.size();
      for (std::int64_t i = 0; i < stop && end >= begin + spelt.size() &&
                               text.compare(end - spelt.size(), spelt.size(), spelt) == 0;
           ++i)
        end -= spelt.size();
      text = text.substr(begin, end - begin);
    }
  }};
}

Steps read_metaspace(const Field& field) {
  std::string spelt;
  append_utf8(field.at("replacement").character(), spelt);
  const auto scheme = field.find("prepend_scheme");
  const std::string prepend = scheme ? scheme->text() : "always";
  field.require(prepend == "first" || prepend == "never" || prepend == "always",
                "has an unknown prepend_scheme; valid are first, never, always");
  const bool drops_first = prepend != "never" && field.flag("add_prefix_space", true);
  const auto marks = Pattern::literal(spelt);
  return {[=](Texts& texts) {
    for (std::size_t i = 0; i < texts.size(); ++i) {
      std::string changed;
      marks.each(texts[i], [&](std::string_view stretch, bool matches) {
        changed += !matches ? stretch : i == 0 && drops_first ? "" : " ";
      });
      texts[i] = std::move(changed);
    }
  }};
}

Steps read_bpe(const Field& field) {
  const auto suffix = Pattern::literal(field.at("suffix").text());
  return {[suffix](Texts& texts) {
    for (std::size_t i = 0; i < texts.size(); ++i) {
      std::string changed;
      suffix.each(texts[i], [&](std::string_view stretch, bool matches) {
        changed += !matches ? stretch : i + 1 == texts.size() ? "" : " ";
      });
      texts[i] = std::move(changed);
    }
  }};
}

Steps read_sequence(const Field& field) {
  Steps all;
  for (const Field& item : field.at("decoders").items()) {
    for (auto& step : read_decoder(item)) all.push_back(std::move(step));
  }
  return all;
}

struct Row {
  const char* type;
  Steps (*read)(const Field&);
};
constexpr Row kRows[] = {
    {"ByteLevel", [](const Field&) -> Steps { return {decode_byte_level}; }},
    {"Metaspace", read_metaspace},
    {"ByteFallback", [](const Field&) -> Steps { return {decode_byte_fallback}; }},
    {"Fuse", [](const Field&) -> Steps { return {fuse}; }},
    {"Replace", read_replace},
    {"Strip", read_strip},
    {"BPEDecoder", read_bpe},
    {"Sequence", read_sequence},
};

}  // namespace

std::vector<DecoderStep> read_decoder(const Field& field) {
  return row_of_type(field, kRows).read(field);
}

}  // namespace rollcall::text::json_tokenizer
