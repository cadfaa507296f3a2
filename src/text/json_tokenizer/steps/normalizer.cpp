// Makes the steps of each type of normalizer.
#include "text/json_tokenizer/steps/normalizer.hpp"

#include "text/json_tokenizer/steps/normal_form.hpp"
#include "text/json_tokenizer/steps/pattern.hpp"
#include "text/json_tokenizer/steps/unicode.hpp"
#include "text/json_tokenizer/vocabulary/byte_alphabet.hpp"

#include <memory>
#include <utility>

namespace rollcall::text::json_tokenizer {
namespace {

using Steps = std::vector<NormalizerStep>;

/// A step that replaces each character with the text that `append` adds for it, which may be empty.
template <class Append>
NormalizerStep each_character(Append append) {
  return [append](Normalized& it) {
    std::string text;
    text.reserve(it.text.size());
    for (std::size_t at = 0; at < it.text.size();) {
      const auto [c, length] = decode(it.text, at);
      append(c, text);
      if (at == 0 && text.empty()) it.starts_original = false;
      at += length;
    }
    it.text = std::move(text);
  };
}

NormalizerStep normal_form(NormalForm form) {
  return [form](Normalized& it) { it.text = to_normal_form(it.text, form); };
}

Steps read_strip(const Field& field) {
  const bool left = field.at("strip_left").flag(), right = field.at("strip_right").flag();
  return {[left, right](Normalized& it) {
    std::size_t begin = 0, end = it.text.size();
    for (; left && begin < end && is_space(decode(it.text, begin).code); it.starts_original = false)
      begin += decode(it.text, begin).length;
    while (right && end > begin && is_space(decode_before(it.text, end).code))
      end -= decode_before(it.text, end).length;
    it.text = it.text.substr(begin, end - begin);
  }};
}

Steps read_replace(const Field& field) {
  const auto pattern = Pattern::read(field.at("pattern"));
  const std::string content = field.at("content").text();
  return {[pattern, content](Normalized& it) {
    if (content.empty() && pattern.begins(it.text)) it.starts_original = false;
    it.text = pattern.replace(it.text, content);
  }};
}

Steps read_prepend(const Field& field) {
  const std::string what = field.at("prepend").text();
  return {[what](Normalized& it) { it.text.insert(0, what); }};
}

/// The character map of Google's NMT models, which removes control characters and makes separators
/// spaces.
void append_nmt(char32_t c, std::string& to) {
  const bool vanishes = (c >= 1 && c <= 8) || c == 0xB || (c >= 0xE && c <= 0x1F) || c == 0x7F ||
                        c == 0x8F || c == 0x9F;
  if (vanishes) return;
  const bool separates = c == 9 || c == 0xA || c == 0xC || c == 0xD || c == 0x1680 ||
                         (c >= 0x200B && c <= 0x200F) || c == 0x2028 || c == 0x2029 ||
                         c == 0x2581 || c == 0xFEFF || c == 0xFFFD;
  append_utf8(separates ? U' ' : c, to);
}

Steps read_sequence(const Field& field) {
  Steps all;
  for (const Field& item : field.at("normalizers").items()) {
    for (auto& step : read_normalizer(item)) all.push_back(std::move(step));
  }
  return all;
}

struct Row {
  const char* type;
  Steps (*read)(const Field&);
};
constexpr Row kRows[] = {
    {"NFC",
     [](const Field&) -> Steps {
       return {normal_form({true, false})};
     }},
    {"NFD",
     [](const Field&) -> Steps {
       return {normal_form({false, false})};
     }},
    {"NFKC",
     [](const Field&) -> Steps {
       return {normal_form({true, true})};
     }},
    {"NFKD",
     [](const Field&) -> Steps {
       return {normal_form({false, true})};
     }},
    {"Lowercase", [](const Field&) -> Steps { return {each_character(append_lowercase)}; }},
    {"Strip", read_strip},
    {"StripAccents",
     [](const Field&) -> Steps {
       return {each_character([](char32_t c, std::string& to) {
         if (!is_combining_mark(c)) append_utf8(c, to);
       })};
     }},
    {"Replace", read_replace},
    {"Prepend", read_prepend},
    {"ByteLevel",
     [](const Field&) -> Steps {
       return {[](Normalized& it) {
         std::string text;
         append_as_characters(it.text, text);
         it.text = std::move(text);
       }};
     }},
    {"Nmt", [](const Field&) -> Steps { return {each_character(append_nmt)}; }},
    {"Sequence", read_sequence},
};

}  // namespace

std::vector<NormalizerStep> read_normalizer(const Field& field) {
  return row_of_type(field, kRows).read(field);
}

}  // namespace rollcall::text::json_tokenizer
