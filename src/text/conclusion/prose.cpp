// Counts in bytes. Only ASCII letters have case.
#include "text/conclusion/prose.hpp"

#include <algorithm>

namespace rollcall::text {
namespace {

bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_word(char c) {
  return is_upper(c) || is_lower(c) || (c >= '0' && c <= '9') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}
bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
char to_lower(char c) { return is_upper(c) ? char(c - 'A' + 'a') : c; }
char to_upper(char c) { return is_lower(c) ? char(c - 'a' + 'A') : c; }

std::string mapped(std::string_view text, char (*map)(char)) {
  std::string result(text);
  std::transform(text.begin(), text.end(), result.begin(), map);
  return result;
}

}  // namespace

std::vector<std::string_view> words(std::string_view text) {
  std::vector<std::string_view> found;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && is_word(text[end])) ++end;
    if (end > at) found.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return found;
}

std::size_t count_sentences(std::string_view text) {
  std::size_t count = 0;
  bool begun = false;  // a word has been read since the last end of a sentence
  for (std::size_t i = 0; i < text.size(); ++i) {
    begun = begun || is_word(text[i]);
    const bool stop = text[i] == '.' || text[i] == '!' || text[i] == '?';
    const bool last = i + 1 == text.size() || is_space(text[i + 1]) || text[i + 1] == '"';
    if (!begun || !stop || !last) continue;
    ++count;
    begun = false;
  }
  return count + (begun ? 1 : 0);
}

std::size_t count_letter(std::string_view text, char letter) {
  return std::size_t(std::count_if(text.begin(), text.end(),
                                   [&](char c) { return to_lower(c) == to_lower(letter); }));
}

std::size_t count_occurrences(std::string_view text, std::string_view part) {
  if (part.empty()) return 0;
  const std::string within = lower(text), wanted = lower(part);
  std::size_t count = 0;
  for (std::size_t at = within.find(wanted); at != std::string::npos;
       at = within.find(wanted, at + wanted.size()))
    ++count;
  return count;
}

std::size_t count_capital_words(std::string_view text) {
  const auto all = words(text);
  return std::size_t(std::count_if(
      all.begin(), all.end(), [](std::string_view w) { return has_upper(w) && !has_lower(w); }));
}

bool has_upper(std::string_view text) { return std::any_of(text.begin(), text.end(), is_upper); }
bool has_lower(std::string_view text) { return std::any_of(text.begin(), text.end(), is_lower); }

std::string lower(std::string_view text) { return mapped(text, to_lower); }
std::string upper(std::string_view text) { return mapped(text, to_upper); }

std::vector<std::string_view> split(std::string_view text, std::string_view mark) {
  std::vector<std::string_view> pieces;
  for (std::size_t at = text.find(mark); at != std::string_view::npos; at = text.find(mark)) {
    pieces.push_back(text.substr(0, at));
    text.remove_prefix(at + mark.size());
  }
  pieces.push_back(text);
  return pieces;
}

std::string replaced(std::string_view text, std::string_view part, std::string_view with) {
  const auto pieces = split(text, part);
  std::string all(pieces.front());
  for (std::size_t i = 1; i < pieces.size(); ++i) all.append(with).append(pieces[i]);
  return all;
}

}  // namespace rollcall::text
