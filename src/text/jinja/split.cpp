// Splitting, stripping, replacing, centering.
#include "text/jinja/split.hpp"

#include "text/jinja/characters.hpp"
#include "text/jinja/python_text.hpp"

#include <algorithm>

namespace rollcall::text::jinja {
namespace {

bool is_line_end(char32_t c) { return (c >= 0x0A && c <= 0x0D) || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 || c == 0x2029; }

std::string_view first_character(std::string_view s) {
  std::size_t at = 0;
  next_character(s, at);
  return s.substr(0, at);
}

std::string_view final_character(std::string_view s) {
  std::size_t at = s.size() - 1;
  while (at > 0 && (s[at] & 0xC0) == 0x80) --at;
  return s.substr(at);
}

/// Where the last run of white space of `s` (which ends in none) ends; npos: there is none.
std::size_t last_space_end(std::string_view s) {
  while (!s.empty()) {
    const auto c = final_character(s);
    if (is_space(last_character(s))) return s.size();
    s.remove_suffix(c.size());
  }
  return std::string_view::npos;
}

}  // namespace

std::vector<std::string_view> split_space(std::string_view s, std::int64_t most) {
  std::vector<std::string_view> parts;
  for (s = strip_left(s); !s.empty(); s = strip_left(s)) {
    if (most >= 0 && std::int64_t(parts.size()) == most) {
      parts.push_back(s);
      break;
    }
    std::size_t end = 0;
    for (std::size_t at = 0; at < s.size(); end = at) {
      if (is_space(next_character(s, at))) break;
    }
    parts.push_back(s.substr(0, end));
    s.remove_prefix(end);
  }
  return parts;
}

std::vector<std::string_view> split_space_right(std::string_view s, std::int64_t most) {
  std::vector<std::string_view> parts;
  for (s = strip_right(s); !s.empty(); s = strip_right(s)) {
    const std::size_t space = most >= 0 && std::int64_t(parts.size()) == most ? std::string_view::npos : last_space_end(s);
    if (space == std::string_view::npos) {
      parts.push_back(s);
      break;
    }
    parts.push_back(s.substr(space));
    s = s.substr(0, space);
  }
  std::reverse(parts.begin(), parts.end());
  return parts;
}

std::vector<std::string_view> split_at(std::string_view s, std::string_view separator, std::int64_t most) {
  std::vector<std::string_view> parts;
  for (std::size_t at = s.find(separator); at != std::string_view::npos && (most < 0 || std::int64_t(parts.size()) < most); at = s.find(separator)) {
    parts.push_back(s.substr(0, at));
    s.remove_prefix(at + separator.size());
  }
  parts.push_back(s);
  return parts;
}

std::vector<std::string_view> split_at_right(std::string_view s, std::string_view separator, std::int64_t most) {
  std::vector<std::string_view> parts;
  for (std::size_t at = s.rfind(separator); at != std::string_view::npos && (most < 0 || std::int64_t(parts.size()) < most); at = s.rfind(separator)) {
    parts.push_back(s.substr(at + separator.size()));
    s = s.substr(0, at);
  }
  parts.push_back(s);
  std::reverse(parts.begin(), parts.end());
  return parts;
}

std::vector<std::string_view> lines_of(std::string_view s, bool keep_ends) {
  std::vector<std::string_view> lines;
  std::size_t begin = 0;
  for (std::size_t at = 0; at < s.size();) {
    const std::size_t here = at;
    const char32_t c = next_character(s, at);
    if (!is_line_end(c)) continue;
    if (c == '\r' && at < s.size() && s[at] == '\n') ++at;
    lines.push_back(s.substr(begin, (keep_ends ? at : here) - begin));
    begin = at;
  }
  if (begin < s.size()) lines.push_back(s.substr(begin));
  return lines;
}

std::string_view strip_set(std::string_view s, std::string_view characters, bool left, bool right) {
  while (left && !s.empty() && characters.find(first_character(s)) != std::string_view::npos) s.remove_prefix(first_character(s).size());
  while (right && !s.empty() && characters.find(final_character(s)) != std::string_view::npos) s.remove_suffix(final_character(s).size());
  return s;
}

std::string replaced(Budget& budget, std::string_view s, std::string_view old, std::string_view with, std::int64_t most) {
  budget.work(std::int64_t(s.size()));
  Builder out(budget);
  std::int64_t n = 0;
  if (old.empty()) {  // between all characters
    for (std::size_t at = 0; at <= s.size() && (most < 0 || n < most); ++n) {
      out += with;
      const auto c = at < s.size() ? first_character(s.substr(at)) : std::string_view();
      out += c;
      at += c.empty() ? 1 : c.size();
      budget.work(std::int64_t(with.size()));
      if (c.empty()) return out.take();
    }
    std::size_t done = offset_of(s, std::size_t(n));
    out += s.substr(done);
    return out.take();
  }
  for (std::size_t at = s.find(old); at != std::string_view::npos && (most < 0 || n < most); at = s.find(old), ++n) {
    out += s.substr(0, at);
    out += with;
    budget.work(std::int64_t(with.size()));
    s.remove_prefix(at + old.size());
  }
  out += s;
  return out.take();
}

std::string centered(Budget& budget, const std::string& s, FormatSpec spec) {
  const auto length = std::int64_t(character_count(s));
  const std::int64_t missing = spec.width - length;
  if (missing <= 0) return s;
  FormatSpec left = spec;
  left.align = '>';
  left.width = length + missing / 2 + (missing & spec.width & 1);  // CPython's unicode_center
  spec.align = '<';
  return padded(budget, padded(budget, s, left, '>'), spec, '<');
}

bool all_cased(std::string_view s, int wanted, int others) {
  bool any = false;
  for (std::size_t at = 0; at < s.size();) {
    const char32_t c = next_character(s, at);
    if (has_flag(c, others)) return false;
    any = any || has_flag(c, wanted);
  }
  return any;
}

}  // namespace rollcall::text::jinja
