// The methods of str.
#include "text/jinja/values/access.hpp"
#include "text/jinja/values/characters.hpp"
#include "text/jinja/values/number_format.hpp"
#include "text/jinja/values/operators.hpp"
#include "text/jinja/values/python_text.hpp"
#include "text/jinja/values/split.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rollcall::text::jinja {
namespace {

const std::string& text_of(const Call& call) { return call.self.text(); }

/// Refuses a string that is marked safe, because its methods would escape their arguments. Chat
/// templates do not call them.
void refuse_safe(const Call& call) {
  if (call.self.safe) fail_unsupported("this method of a string marked safe");
}

Value text(Call& call, std::string s) {
  return string(call.budget(), std::move(s), call.self.safe);
}

template <std::string (*kMap)(std::string_view)>
Value mapped(Call& call) {
  call.budget().look(std::int64_t(text_of(call).size()));
  return text(call, kMap(text_of(call)));
}

enum Sides { kLeft = 1, kRight = 2 };
template <int kSides>
Value strip(Call& call) {
  if (call.has(0) && !call[0].is(Kind::none)) {
    return text(call, std::string(strip_set(call.budget(), text_of(call),
                                            text_argument(call[0], "strip arg"),
                                            (kSides & kLeft) != 0, (kSides & kRight) != 0)));
  }
  std::string_view s = text_of(call);
  if (kSides & kLeft) s = strip_left(s);
  if (kSides & kRight) s = strip_right(s);
  call.budget().look(std::int64_t(text_of(call).size() - s.size()));
  return text(call, std::string(s));
}

Value texts(Call& call, const std::vector<std::string_view>& parts) {
  std::vector<Value> values;
  for (const auto part : parts) values.push_back(text(call, std::string(part)));
  return list(call.budget(), std::move(values));
}

template <bool kFromRight>
Value split(Call& call) {
  const bool by_space = !call.has(0) || call[0].is(Kind::none);
  const std::int64_t limit = call.has(1) ? whole_argument(call[1]) : -1;
  if (!by_space && text_argument(call[0], "sep").empty()) fail("empty separator");
  Budget& budget = call.budget();
  if (by_space)
    return texts(call, kFromRight ? split_space_right(budget, text_of(call), limit)
                                  : split_space(budget, text_of(call), limit));
  return texts(call, kFromRight ? split_at_right(budget, text_of(call), call[0].text(), limit)
                                : split_at(budget, text_of(call), call[0].text(), limit));
}

Value splitlines(Call& call) {
  return texts(
      call, lines_of(call.budget(), text_of(call), call.has(0) && is_true(call.budget(), call[0])));
}

template <bool kFromRight>
Value partition(Call& call) {
  refuse_safe(call);
  const auto &s = text_of(call), &sep = text_argument(call[0], "sep");
  if (sep.empty()) fail("empty separator");
  const std::size_t at =
      kFromRight ? find_last_text(call.budget(), s, sep) : find_text(call.budget(), s, sep);
  if (at == std::string::npos)
    return tuple(call.budget(), kFromRight
                                    ? std::vector{text(call, ""), text(call, ""), call.self}
                                    : std::vector{call.self, text(call, ""), text(call, "")});
  return tuple(call.budget(), {text(call, s.substr(0, at)), text(call, sep),
                               text(call, s.substr(at + sep.size()))});
}

Value join(Call& call) {
  refuse_safe(call);
  Builder out(call.budget());
  const auto iterator = iterate(call.context, call[0]);
  std::int64_t i = 0;
  for (Value item; iterator->advance(call.context, item); ++i) {
    if (!item.is(Kind::string))
      fail(fmt::format("sequence item {}: expected str instance, {} found", i, type_name(item)));
    if (i > 0) out += text_of(call);
    out += item.text();
  }
  return string(call.budget(), out.take());
}

Value replace(Call& call) {
  refuse_safe(call);
  return string(call.budget(), replaced(call.budget(), text_of(call),
                                        text_argument(call[0], "replace() argument 1"),
                                        text_argument(call[1], "replace() argument 2"),
                                        call.has(2) ? whole_argument(call[2]) : -1));
}

/// The part of a text bounded by the optional arguments `i` and `i + 1`. These count characters;
/// the part's ends are in bytes.
struct Part {
  std::size_t begin, end, first;  // first: index of the character at begin
  bool valid;                     // false if the start is after the end
};
Part part_of(Call& call, std::size_t i) {
  const auto length = std::int64_t(call.self.as<Text>().length);
  const auto place = [&](std::size_t k, std::int64_t missing) {
    if (!call.has(k) || call[k].is(Kind::none)) return missing;
    const std::int64_t v = whole_argument(call[k]);
    return v < 0 ? std::max<std::int64_t>(v + length, 0) : v;
  };
  const std::int64_t start = place(i, 0), stop = std::min(place(i + 1, length), length);
  if (start > length || start > stop) return {0, 0, 0, false};
  if (start > 0 || stop < length) call.budget().look(2 * std::int64_t(text_of(call).size()));
  return {offset_of(text_of(call), std::size_t(start)), offset_of(text_of(call), std::size_t(stop)),
          std::size_t(start), true};
}

template <bool kFromRight>
std::int64_t found(Call& call) {
  const auto& wanted = text_argument(call[0], "must be str, not");
  const Part part = part_of(call, 1);
  if (!part.valid) return -1;
  const std::string_view s =
      std::string_view(text_of(call)).substr(part.begin, part.end - part.begin);
  const std::size_t at =
      kFromRight ? find_last_text(call.budget(), s, wanted) : find_text(call.budget(), s, wanted);
  if (at == std::string_view::npos) return -1;
  call.budget().work(std::int64_t(at));
  return std::int64_t(part.first + character_count(s.substr(0, at)));
}

template <bool kFromRight>
Value find(Call& call) {
  return integer(found<kFromRight>(call));
}

template <bool kFromRight>
Value index(Call& call) {
  const std::int64_t at = found<kFromRight>(call);
  if (at < 0) fail("substring not found");
  return integer(at);
}

Value count(Call& call) {
  const auto& wanted = text_argument(call[0], "must be str, not");
  const Part part = part_of(call, 1);
  if (!part.valid) return integer(0);
  std::string_view s = std::string_view(text_of(call)).substr(part.begin, part.end - part.begin);
  if (wanted.empty()) return integer(std::int64_t(character_count(s)) + 1);
  for (std::int64_t n = 0;; ++n) {
    const std::size_t at = find_text(call.budget(), s, wanted);
    if (at == std::string_view::npos) return integer(n);
    s.remove_prefix(at + wanted.size());
  }
}

template <bool kEnd>
Value begins_or_ends(Call& call) {
  const Part part = part_of(call, 1);
  const auto matches = [&](const Value& v) {
    const auto& wanted = text_argument(v, kEnd ? "endswith first arg" : "startswith first arg");
    call.budget().work(std::int64_t(wanted.size()));
    const std::string_view s =
        std::string_view(text_of(call)).substr(part.begin, part.end - part.begin);
    return part.valid && (kEnd ? s.ends_with(wanted) : s.starts_with(wanted));
  };
  if (!call[0].is(Kind::tuple)) return boolean(matches(call[0]));
  for (const auto& v : call[0].items()) {
    if (matches(v)) return boolean(true);
  }
  return boolean(false);
}

template <bool kEnd>
Value remove_affix(Call& call) {
  std::string_view s = text_of(call);
  const auto& affix =
      text_argument(call[0], kEnd ? "removesuffix() argument" : "removeprefix() argument");
  if (kEnd && !affix.empty() && s.ends_with(affix)) s.remove_suffix(affix.size());
  if (!kEnd && s.starts_with(affix)) s.remove_prefix(affix.size());
  return text(call, std::string(s));
}

FormatSpec filled(Call& call, char align) {
  FormatSpec spec;
  spec.width = whole_argument(call[0]);
  spec.align = align;
  if (!call.has(1)) return spec;
  spec.fill = text_argument(call[1], "The fill character");
  if (call[1].as<Text>().length != 1) fail("The fill character must be exactly one character long");
  return spec;
}

template <char kAlign>
Value justify(Call& call) {
  return text(call, padded(call.budget(), text_of(call), filled(call, kAlign), kAlign));
}

Value center(Call& call) {
  return text(call, centered(call.budget(), text_of(call), filled(call, '^')));
}

Value zfill(Call& call) {
  FormatSpec spec;
  spec.width = whole_argument(call[0]);
  spec.fill.assign(1, '0');
  spec.align = '=';
  return text(call,
              padded(call.budget(), text_of(call), spec, '=',
                     text_of(call).starts_with('-') || text_of(call).starts_with('+') ? 1 : 0));
}

Value expandtabs(Call& call) {
  const std::int64_t size = call.has(0) ? whole_argument(call[0]) : 8;
  Builder out(call.budget());
  call.budget().look(std::int64_t(text_of(call).size()));
  std::int64_t column = 0;
  for (const char c : text_of(call)) {
    if (c == '\t') {
      const std::int64_t n = size > 0 ? size - column % size : 0;
      call.budget().check(n);
      call.budget().work(n);
      out += std::string(std::size_t(n), ' ');
      column += n;
      continue;
    }
    out += c;
    if (c == '\n' || c == '\r') column = 0;
    else if ((c & 0xC0) != 0x80) ++column;
  }
  return text(call, out.take());
}

/// Whether the text is not empty and each of its characters has one of the flags.
template <int kFlags>
Value all_have(Call& call) {
  const auto& s = text_of(call);
  call.budget().look(std::int64_t(s.size()));
  for (std::size_t at = 0; at < s.size();) {
    if (!has_flag(next_character(s, at), kFlags)) return boolean(false);
  }
  return boolean(!s.empty() || kFlags == kPrintable);
}

Value is_ascii(Call& call) {
  return boolean(std::all_of(text_of(call).begin(), text_of(call).end(),
                             [](char c) { return (c & 0x80) == 0; }));
}

template <int kWanted, int kOthers>
Value is_cased(Call& call) {
  call.budget().look(std::int64_t(text_of(call).size()));
  return boolean(all_cased(text_of(call), kWanted, kOthers));
}

Value is_title(Call& call) {
  bool in_word = false, any = false;
  call.budget().look(std::int64_t(text_of(call).size()));
  for (std::size_t at = 0; at < text_of(call).size();) {
    const char32_t c = next_character(text_of(call), at);
    if (has_flag(c, kUppercase | kTitlecase)) {
      if (in_word) return boolean(false);
      in_word = any = true;
    } else if (has_flag(c, kLowercase)) {
      if (!in_word) return boolean(false);
      any = true;
    } else {
      in_word = false;
    }
  }
  return boolean(any);
}

Value is_identifier(Call& call) {
  const auto& s = text_of(call);
  call.budget().look(std::int64_t(s.size()));
  if (!std::all_of(s.begin(), s.end(), [](char c) { return (c & 0x80) == 0; }))
    fail_unsupported("isidentifier beyond ASCII");
  const bool all = std::all_of(s.begin(), s.end(), [](char c) {
    return c == '_' || has_flag(char32_t(c), kAlpha | kDecimal);
  });
  return boolean(!s.empty() && all && !has_flag(char32_t(s[0]), kDecimal));
}

Value format(Call& call) {
  refuse_safe(call);
  return string(call.budget(), brace_format(call.context, text_of(call), call.rest));
}

Value format_map(Call& call) {
  refuse_safe(call);
  if (!call[0].is(Kind::dict)) fail_unsupported("format_map of what is no dictionary");
  Arguments arguments;
  for (const auto& [key, value] : call[0].dict().items) {
    if (key.is(Kind::string)) arguments.named.emplace_back(key.text(), value);
  }
  return string(call.budget(), brace_format(call.context, text_of(call), arguments));
}

constexpr Row kMethods[] = {
    {"capitalize", "/", mapped<capitalize>},
    {"casefold", "/", mapped<casefold>},
    {"center", "/ width! fillchar", center},
    {"count", "/ sub! start end", count},
    {"endswith", "/ suffix! start end", begins_or_ends<true>},
    {"expandtabs", "tabsize", expandtabs},
    {"find", "/ sub! start end", find<false>},
    {"format", "* **", format},
    {"format_map", "/ mapping!", format_map},
    {"index", "/ sub! start end", index<false>},
    {"isalnum", "/", all_have<kAlpha | kDecimal | kDigit | kNumeric>},
    {"isalpha", "/", all_have<kAlpha>},
    {"isascii", "/", is_ascii},
    {"isdecimal", "/", all_have<kDecimal>},
    {"isdigit", "/", all_have<kDigit>},
    {"isidentifier", "/", is_identifier},
    {"islower", "/", is_cased<kLowercase, kUppercase | kTitlecase>},
    {"isnumeric", "/", all_have<kNumeric>},
    {"isprintable", "/", all_have<kPrintable>},
    {"isspace", "/", all_have<kSpace>},
    {"istitle", "/", is_title},
    {"isupper", "/", is_cased<kUppercase, kLowercase | kTitlecase>},
    {"join", "/ iterable!", join},
    {"ljust", "/ width! fillchar", justify<'<'>},
    {"lower", "/", mapped<lower>},
    {"lstrip", "/ chars", strip<kLeft>},
    {"partition", "/ sep!", partition<false>},
    {"removeprefix", "/ prefix!", remove_affix<false>},
    {"removesuffix", "/ suffix!", remove_affix<true>},
    {"replace", "/ old! new! count", replace},
    {"rfind", "/ sub! start end", find<true>},
    {"rindex", "/ sub! start end", index<true>},
    {"rjust", "/ width! fillchar", justify<'>'>},
    {"rpartition", "/ sep!", partition<true>},
    {"rsplit", "sep maxsplit", split<true>},
    {"rstrip", "/ chars", strip<kRight>},
    {"split", "sep maxsplit", split<false>},
    {"splitlines", "keepends", splitlines},
    {"startswith", "/ prefix! start end", begins_or_ends<false>},
    {"strip", "/ chars", strip<kLeft | kRight>},
    {"swapcase", "/", mapped<swapcase>},
    {"title", "/", mapped<title>},
    {"upper", "/", mapped<upper>},
    {"zfill", "/ width!", zfill},
};

}  // namespace

std::span<const Row> text_methods() { return kMethods; }

}  // namespace rollcall::text::jinja
