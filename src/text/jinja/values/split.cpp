// Splits, strips, replaces and centers text.
#include "text/jinja/values/split.hpp"

#include "text/jinja/values/characters.hpp"
#include "text/jinja/values/python_text.hpp"

#include <string.h>  // memmem

#include <algorithm>
#include <set>

namespace rollcall::text::jinja {
namespace {

bool is_line_end(char32_t c) {
  return (c >= 0x0A && c <= 0x0D) || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 ||
         c == 0x2029;
}

/// Appends a part. Each part takes a step from the budget, so that their number is limited.
void add_part(Budget& budget, std::vector<std::string_view>& parts, std::string_view part) {
  budget.step();
  parts.push_back(part);
}

std::string reversed(Budget& budget, std::string_view s) {
  budget.check(std::int64_t(s.size()));
  return {s.rbegin(), s.rend()};
}

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

/// The end of the last run of white space in `s`, which does not end in white space. npos if there
/// is none.
std::size_t last_space_end(std::string_view s) {
  while (!s.empty()) {
    const auto c = final_character(s);
    if (is_space(last_character(s))) return s.size();
    s.remove_suffix(c.size());
  }
  return std::string_view::npos;
}

}  // namespace

std::size_t find_text(Budget& budget, std::string_view s, std::string_view wanted) {
  if (wanted.empty()) return 0;
  const void* found = ::memmem(s.data(), s.size(), wanted.data(), wanted.size());
  const std::size_t at = found == nullptr ? std::string_view::npos
                                          : std::size_t(static_cast<const char*>(found) - s.data());
  budget.look(std::int64_t(found == nullptr ? s.size() : at + wanted.size()));
  return at;
}

std::size_t find_last_text(Budget& budget, std::string_view s, std::string_view wanted) {
  budget.look(std::int64_t(s.size() + wanted.size()));
  const std::size_t at = find_text(budget, reversed(budget, s), reversed(budget, wanted));
  return at == std::string_view::npos ? at : s.size() - at - wanted.size();
}

std::vector<std::string_view> split_space(Budget& budget, std::string_view s, std::int64_t limit) {
  budget.look(std::int64_t(s.size()));
  std::vector<std::string_view> parts;
  for (s = strip_left(s); !s.empty(); s = strip_left(s)) {
    if (limit >= 0 && std::int64_t(parts.size()) == limit) {
      add_part(budget, parts, s);
      break;
    }
    std::size_t end = 0;
    for (std::size_t at = 0; at < s.size(); end = at) {
      if (is_space(next_character(s, at))) break;
    }
    add_part(budget, parts, s.substr(0, end));
    s.remove_prefix(end);
  }
  return parts;
}

std::vector<std::string_view> split_space_right(Budget& budget, std::string_view s,
                                                std::int64_t limit) {
  budget.look(std::int64_t(s.size()));
  std::vector<std::string_view> parts;
  for (s = strip_right(s); !s.empty(); s = strip_right(s)) {
    const std::size_t space = limit >= 0 && std::int64_t(parts.size()) == limit
                                  ? std::string_view::npos
                                  : last_space_end(s);
    if (space == std::string_view::npos) {
      add_part(budget, parts, s);
      break;
    }
    add_part(budget, parts, s.substr(space));
    s = s.substr(0, space);
  }
  std::reverse(parts.begin(), parts.end());
  return parts;
}

std::vector<std::string_view> split_at(Budget& budget, std::string_view s,
                                       std::string_view separator, std::int64_t limit) {
  std::vector<std::string_view> parts;
  while (limit < 0 || std::int64_t(parts.size()) < limit) {
    const std::size_t at = find_text(budget, s, separator);
    if (at == std::string_view::npos) break;
    add_part(budget, parts, s.substr(0, at));
    s.remove_prefix(at + separator.size());
  }
  parts.push_back(s);
  return parts;
}

/// Splits from the right by splitting the reversed text from the left.
std::vector<std::string_view> split_at_right(Budget& budget, std::string_view s,
                                             std::string_view separator, std::int64_t limit) {
  budget.look(std::int64_t(s.size() + separator.size()));
  const std::string text = reversed(budget, s), mark = reversed(budget, separator);
  std::vector<std::string_view> parts;
  for (const auto part : split_at(budget, text, mark, limit)) {
    parts.push_back(s.substr(s.size() - part.size()));
    s.remove_suffix(std::min(s.size(), part.size() + separator.size()));
  }
  std::reverse(parts.begin(), parts.end());
  return parts;
}

std::vector<std::string_view> lines_of(Budget& budget, std::string_view s, bool keep_ends) {
  budget.look(std::int64_t(s.size()));
  std::vector<std::string_view> lines;
  std::size_t begin = 0;
  for (std::size_t at = 0; at < s.size();) {
    const std::size_t here = at;
    const char32_t c = next_character(s, at);
    if (!is_line_end(c)) continue;
    if (c == '\r' && at < s.size() && s[at] == '\n') ++at;
    add_part(budget, lines, s.substr(begin, (keep_ends ? at : here) - begin));
    begin = at;
  }
  if (begin < s.size()) add_part(budget, lines, s.substr(begin));
  return lines;
}

std::string_view strip_set(Budget& budget, std::string_view s, std::string_view characters,
                           bool left, bool right) {
  std::set<std::string_view> stripped;
  for (std::string_view rest = characters; !rest.empty();
       rest.remove_prefix(first_character(rest).size())) {
    budget.step();
    stripped.insert(first_character(rest));
  }
  const std::size_t before = s.size();
  while (left && !s.empty() && stripped.contains(first_character(s)))
    s.remove_prefix(first_character(s).size());
  while (right && !s.empty() && stripped.contains(final_character(s)))
    s.remove_suffix(final_character(s).size());
  budget.step(std::int64_t(before - s.size()));
  return s;
}

std::string replaced(Budget& budget, std::string_view s, std::string_view old,
                     std::string_view with, std::int64_t limit) {
  Builder out(budget);
  std::int64_t n = 0;
  if (old.empty()) {  // between all characters
    budget.look(std::int64_t(s.size()));
    for (std::size_t at = 0; at <= s.size() && (limit < 0 || n < limit); ++n) {
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
  for (; limit < 0 || n < limit; ++n) {
    const std::size_t at = find_text(budget, s, old);
    if (at == std::string_view::npos) break;
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
