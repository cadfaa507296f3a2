// Filters that return text.
#include "text/jinja/filter_rows.hpp"
#include "text/jinja/values/characters.hpp"
#include "text/jinja/values/operators.hpp"
#include "text/jinja/values/python_text.hpp"
#include "text/jinja/values/split.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rollcall::text::jinja {
namespace {

Value like(Call& call, const Value& model, std::string s) {
  return string(call.budget(), std::move(s), model.safe);
}

template <std::string (*kMap)(std::string_view)>
Value mapped(Call& call) {
  const Value text = soft_text(call, call.self);
  call.budget().look(std::int64_t(text.text().size()));
  return like(call, text, kMap(text.text()));
}

/// Jinja's filter `title`, which begins words after spaces, hyphens and opening brackets.
std::string title_words(std::string_view s) {
  std::string out;
  const auto parts_words = [](char32_t c) {
    return is_space(c) || c == '-' || c == '(' || c == '{' || c == '[' || c == '<';
  };
  for (std::size_t at = 0; at < s.size();) {
    const std::size_t begin = at;
    const bool between = parts_words(next_character(s, at));
    const std::size_t first_end = at;
    for (std::size_t next = at; next < s.size() && parts_words(next_character(s, next)) == between;)
      at = next;
    out += upper(s.substr(begin, first_end - begin)) + lower(s.substr(first_end, at - first_end));
  }
  return out;
}

Value center(Call& call) {
  const Value text = soft_text(call, call.self);
  FormatSpec spec;
  spec.width = call.has(0) ? whole_argument(call[0]) : 80;
  return like(call, text, centered(call.budget(), text.text(), spec));
}

Value escape(Call& call) {
  if (call.self.safe) return call.self;
  return string(call.budget(), escape_html(call.budget(), str(call.context, call.self)), true);
}

Value force_escape(Call& call) {
  return string(call.budget(), escape_html(call.budget(), str(call.context, call.self)), true);
}
Value safe(Call& call) { return string(call.budget(), str(call.context, call.self), true); }
Value text(Call& call) { return soft_text(call, call.self); }

Value format(Call& call) {
  const Value text = soft_text(call, call.self);
  if (!call.rest.positional.empty() && !call.rest.named.empty())
    fail("can't handle positional and keyword arguments at the same time");
  if (call.rest.named.empty())
    return string(
        call.budget(),
        percent_format(call.context, text, tuple(call.budget(), std::move(call.rest.positional))));
  auto named = std::make_shared<Dict>(&call.budget());
  for (auto& [name, value] : call.rest.named) named->set(string(call.budget(), name), value);
  return string(call.budget(), percent_format(call.context, text, dict(std::move(named))));
}

Value indent(Call& call) {
  const auto& s = text_argument(call.self, "the value of indent");
  std::string by(4, ' ');
  if (call.has(0)) {
    if (!call[0].is(Kind::string)) call.budget().check(whole_argument(call[0]));
    by = call[0].is(Kind::string)
             ? call[0].text()
             : std::string(std::size_t(std::max<std::int64_t>(whole_argument(call[0]), 0)), ' ');
  }
  const bool first = call.has(1) && is_true(call.budget(), call[1]),
             blank = call.has(2) && is_true(call.budget(), call[2]);
  const std::string ended = s + "\n";  // as in Jinja, a line end at the end is kept
  Builder out(call.budget());
  bool is_first = true;
  for (const auto line : lines_of(call.budget(), ended, false)) {
    if (!is_first) out += '\n';
    if (is_first ? first : blank || !line.empty()) out += by;
    out += line;
    call.budget().work(std::int64_t(by.size()));
    is_first = false;
  }
  return like(call, call.self, out.take());
}

Value replace(Call& call) {
  return string(call.budget(),
                replaced(call.budget(), str(call.context, call.self), str(call.context, call[0]),
                         str(call.context, call[1]),
                         call.has(2) && !call[2].is(Kind::none) ? whole_argument(call[2]) : -1));
}

/// Replaces entities such as "&amp;" with their characters. Some named entities are not in the
/// table.
std::string unescaped_html(std::string_view s) {
  static constexpr std::pair<std::string_view, char> kEntities[] = {
      {"&amp;", '&'},  {"&lt;", '<'},   {"&gt;", '>'},
      {"&quot;", '"'}, {"&#39;", '\''}, {"&#34;", '"'}};
  std::string out;
  while (!s.empty()) {
    const auto* entity = std::find_if(std::begin(kEntities), std::end(kEntities),
                                      [&](const auto& e) { return s.starts_with(e.first); });
    if (entity != std::end(kEntities)) {
      out += entity->second;
      s.remove_prefix(entity->first.size());
      continue;
    }
    if (s[0] == '&' && s.size() > 1 &&
        (s[1] == '#' || has_flag(char32_t(static_cast<unsigned char>(s[1])), kAlpha)))
      fail_unsupported("an HTML entity in striptags");
    out += s.front();
    s.remove_prefix(1);
  }
  return out;
}

/// Removes comments and tags, and turns each run of white space into one blank (markupsafe's
/// striptags).
Value striptags(Call& call) {
  std::string s = str(call.context, call.self);
  call.budget().look(3 * std::int64_t(s.size()));
  for (const auto& [opening, closing] :
       {std::pair<std::string_view, std::string_view>{"<!--", "-->"}, {"<", ">"}}) {
    std::string kept;
    std::string_view rest = s;
    for (std::size_t begin = rest.find(opening); begin != std::string_view::npos;
         begin = rest.find(opening)) {
      const std::size_t end = rest.find(closing, begin);
      if (end == std::string_view::npos) break;
      kept += rest.substr(0, begin);
      rest.remove_prefix(end + closing.size());
    }
    s = kept + std::string(rest);
  }
  std::string words;
  for (const auto word : split_space(call.budget(), s, -1))
    words.append(words.empty() ? 0 : 1, ' ').append(word);
  return string(call.budget(), unescaped_html(words));
}

Value trim(Call& call) {
  const Value text = soft_text(call, call.self);
  if (!call.has(0) || call[0].is(Kind::none)) {
    const std::string_view kept = strip_left(strip_right(text.text()));
    call.budget().look(std::int64_t(text.text().size() - kept.size()));
    return like(call, text, std::string(kept));
  }
  return like(call, text,
              std::string(strip_set(call.budget(), text.text(), text_argument(call[0], "strip arg"),
                                    true, true)));
}

Value truncate(Call& call) {
  const std::int64_t size = length(call.self);
  const std::int64_t limit = call.has(0) ? whole_argument(call[0]) : 255,
                     leeway = call.has(3) && !call[3].is(Kind::none) ? whole_argument(call[3]) : 5;
  const std::string end = call.has(2) ? text_argument(call[2], "end") : "...";
  const auto end_length = std::int64_t(character_count(end));
  if (limit < end_length) fail(fmt::format("expected length >= {}, got {}", end_length, limit));
  if (leeway < 0) fail(fmt::format("expected leeway >= 0, got {}", leeway));
  if (size <= limit || size - limit <= leeway) return call.self;
  const auto& s = text_argument(call.self, "the value of truncate");
  std::string kept = s.substr(0, offset_of(s, std::size_t(limit - end_length)));
  const bool kill_words = call.has(1) && is_true(call.budget(), call[1]);
  if (const std::size_t blank = kept.rfind(' '); !kill_words && blank != std::string::npos)
    kept.resize(blank);
  return like(call, call.self, kept + end);
}

std::string quoted(Budget& budget, std::string_view s, bool query) {
  budget.look(std::int64_t(s.size()));
  Builder out(budget);
  for (const char c : s) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("_.-~").find(c) != std::string_view::npos;
    if (plain || (c == '/' && !query)) out += c;
    else if (c == ' ' && query) out += '+';
    else out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out.take();
}

Value urlencode(Call& call) {
  if (call.self.is(Kind::string) || !is_iterable(call.self))
    return string(call.budget(), quoted(call.budget(), str(call.context, call.self), false));
  Builder out(call.budget());
  const auto add = [&](const Value& key, const Value& value, bool first) {
    if (!first) out += '&';
    out += quoted(call.budget(), str(call.context, key), true) + "=" +
           quoted(call.budget(), str(call.context, value), true);
  };
  bool first = true;
  if (call.self.is(Kind::dict)) {
    for (const auto& [key, value] : call.self.dict().items)
      add(key, value, std::exchange(first, false));
    return string(call.budget(), out.take());
  }
  for (const auto& pair : collect(call.context, call.self)) {
    const auto parts = collect(call.context, pair);
    if (parts.size() != 2) fail("pairs of key and value are wanted");
    add(parts[0], parts[1], std::exchange(first, false));
  }
  return string(call.budget(), out.take());
}

Value wordcount(Call& call) {
  const Value text = soft_text(call, call.self);
  std::int64_t n = 0;
  bool in_word = false;
  call.budget().look(std::int64_t(text.text().size()));
  for (std::size_t at = 0; at < text.text().size();) {
    const char32_t c = next_character(text.text(), at);
    const bool word = is_alnum(c) || c == '_';
    n += word && !in_word ? 1 : 0;
    in_word = word;
  }
  return integer(n);
}

Value xmlattr(Call& call) {
  if (!call.self.is(Kind::dict))
    fail(fmt::format("'{}' object has no attribute 'items'", type_name(call.self)));
  std::string out;
  for (const auto& [key, value] : call.self.dict().items) {
    if (value.is(Kind::none) || value.is(Kind::undefined)) continue;
    const auto& name = text_argument(key, "an attribute's name");
    if (name.find_first_of(" \t\n\r\f\v/>=") != std::string::npos)
      fail(fmt::format("Invalid character in attribute name: {}", repr_text(name)));
    const auto escaped = [&](const Value& v, std::string s) {
      return v.safe ? s : escape_html(call.budget(), s);
    };
    out += fmt::format("{}{}=\"{}\"", out.empty() ? "" : " ", escaped(key, name),
                       escaped(value, str(call.context, value)));
    call.budget().check(std::int64_t(out.size()));
  }
  const bool space = !call.has(0) || is_true(call.budget(), call[0]);
  return string(call.budget(), (space && !out.empty() ? " " : "") + out);
}

Value tojson(Call& call) {
  JsonStyle style;
  style.ensure_ascii = call.has(0) && is_true(call.budget(), call[0]);
  style.sort_keys = call.has(3) && is_true(call.budget(), call[3]);
  if (call.has(1) && !call[1].is(Kind::none)) {
    if (!call[1].is(Kind::string)) call.budget().check(whole_argument(call[1]));
    style.indent =
        call[1].is(Kind::string)
            ? call[1].text()
            : std::string(std::size_t(std::max<std::int64_t>(whole_argument(call[1]), 0)), ' ');
    style.between_items.assign(1, ',');
  }
  if (call.has(2) && !call[2].is(Kind::none)) {
    const auto parts = collect(call.context, call[2]);
    if (parts.size() != 2) fail("separators are a pair");
    style.between_items = text_argument(parts[0], "a separator");
    style.after_key = text_argument(parts[1], "a separator");
  }
  return string(call.budget(), json_text(call.context, call.self, style));
}

constexpr Row kFilters[] = {
    {"capitalize", "", mapped<capitalize>},
    {"center", "width", center},
    {"e", "", escape},
    {"escape", "", escape},
    {"forceescape", "", force_escape},
    {"format", "* **", format},
    {"indent", "width first blank", indent},
    {"lower", "", mapped<lower>},
    {"replace", "old! new! count", replace},
    {"safe", "", safe},
    {"string", "", text},
    {"striptags", "", striptags},
    {"title", "", mapped<title_words>},
    {"tojson", "ensure_ascii indent separators sort_keys", tojson},
    {"trim", "chars", trim},
    {"truncate", "length killwords end leeway", truncate},
    {"upper", "", mapped<upper>},
    {"urlencode", "", urlencode},
    {"wordcount", "", wordcount},
    {"xmlattr", "autospace", xmlattr},
};

}  // namespace

Value soft_text(Call& call, const Value& value) {
  return value.is(Kind::string) ? value : string(call.budget(), str(call.context, value));
}

std::span<const Row> text_filters() { return kFilters; }

}  // namespace rollcall::text::jinja
