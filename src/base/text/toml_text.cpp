// Uses toml++, which stops at the first error. That part is then blanked and the text is read
// again.
#include "base/text/toml_text.hpp"

#include "base/errors/error.hpp"
#include "base/errors/visible.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <optional>

namespace rollcall {
namespace {

// Limits of a run file, far beyond any that a person or a script writes. toml++ walks and frees
// nested tables by recursion.
constexpr std::size_t kLongestRunFile = std::size_t{1} << 20;  // bytes
constexpr int kDeepest = 32;             // parts of a key, and nested brackets
constexpr std::size_t kMostBroken = 50;  // broken lines; each takes another pass

/// The position after the string that begins at `at` with one quote or three.
std::size_t end_of_string(std::string_view text, std::size_t at) {
  const char quote = text[at];
  const bool many_lines = text.substr(at).starts_with(std::string(3, quote));
  for (at += many_lines ? 3 : 1; at < text.size(); ++at) {
    if (text[at] == '\\' && quote == '"') ++at;
    else if (!many_lines && (text[at] == quote || text[at] == '\n')) return at + 1;
    else if (many_lines && text.substr(at).starts_with(std::string(3, quote))) return at + 3;
  }
  return text.size();
}

/// The largest number of parts of a dotted key, or of nested brackets. For text that is not TOML
/// the result means nothing.
int depth_of(std::string_view text) {
  int deepest = 0, open = 0, parts = 1;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '"' || c == '\'') {
      at = end_of_string(text, at);
      continue;
    }
    if (c == '#') {
      at = std::min(text.find('\n', at), text.size());
      continue;
    }
    if (c == '.') ++parts;
    else if (c == '[' || c == '{') ++open, parts = 1;
    else if (c == ']' || c == '}') open = std::max(open - 1, 0), parts = 1;
    else if (c == '\n' || c == '=' || c == ',') parts = 1;
    deepest = std::max({deepest, open, parts});
    ++at;
  }
  return deepest;
}

void check_limits(std::string_view text, std::string_view origin) {
  require<ConfigError>(text.size() <= kLongestRunFile,
                       fmt::format("{} holds {} bytes", brief(origin), text.size()),
                       fmt::format("a run file has at most {}", kLongestRunFile),
                       "name the run file, or shorten it");
  require<ConfigError>(
      depth_of(text) <= kDeepest,
      fmt::format("{} nests deeper than {} tables or lists", brief(origin), kDeepest),
      "no key of a run file has more than a few parts",
      "correct the key or the list that is so deep");
}

bool is_toml(std::string_view text) {
  try {
    (void)toml::parse(text);
    return true;
  } catch (const toml::parse_error&) {
    return false;
  }
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r";
  const auto first = text.find_first_not_of(kBlank);
  return first == std::string_view::npos
             ? std::string_view{}
             : text.substr(first, text.find_last_not_of(kBlank) + 1 - first);
}

/// The line where the error is, and the text before it.
struct Line {
  std::size_t begin = 0, end = 0;
  std::string_view text, before;
};

Line line_of(std::string_view text, std::uint32_t number) {
  std::size_t begin = 0;
  for (std::uint32_t n = 1; n < number && text.find('\n', begin) != std::string_view::npos; ++n)
    begin = text.find('\n', begin) + 1;
  const std::size_t end = std::min(text.find('\n', begin), text.size());
  return {begin, end, trimmed(text.substr(begin, end - begin)), text.substr(0, begin)};
}

bool is_header(std::string_view line) { return line.starts_with('['); }

/// Whether a line is a `key = value` that ends on this line, with no bracket or string left open.
bool is_whole(std::string_view line) {
  int open = 0;
  for (std::size_t at = 0; at < line.size() && line[at] != '#';) {
    if (line[at] == '"' || line[at] == '\'') {
      const bool many_lines = line.substr(at).starts_with(std::string(3, line[at]));
      const std::size_t end = end_of_string(line, at);
      if (many_lines && end >= line.size()) return false;
      at = end;
      continue;
    }
    open += line[at] == '[' || line[at] == '{' ? 1 : line[at] == ']' || line[at] == '}' ? -1 : 0;
    ++at;
  }
  return open == 0 && line.find('=') != std::string_view::npos && !is_header(line);
}

/// The key that a line would set, with the section that it is in.
std::string key_of(const Line& line) {
  std::string section;
  for (std::size_t begin = 0; begin < line.before.size();) {
    const std::size_t end = std::min(line.before.find('\n', begin), line.before.size());
    const auto above = trimmed(line.before.substr(begin, end - begin));
    if (is_header(above))
      section = std::string(trimmed(above.substr(1, above.find(']') - 1))) + ".";
    begin = end + 1;
  }
  return section + std::string(trimmed(line.text.substr(0, line.text.find('='))));
}

/// Suggestions for mistakes by people who know other languages better than TOML.
std::string suggestion_for(std::string_view line) {
  constexpr std::array kBooleans{std::pair{"True", "true"}, std::pair{"False", "false"},
                                 std::pair{"yes", "true"}, std::pair{"no", "false"}};
  const auto equals = line.find('=');
  const auto value = equals == std::string_view::npos
                         ? std::string_view{}
                         : trimmed(line.substr(equals + 1, line.find('#', equals) - equals - 1));
  const std::string key = brief(trimmed(line.substr(0, equals)));
  for (const auto& [theirs, ours] : kBooleans)
    if (value == theirs) return fmt::format("write {} = {}", key, ours);
  const bool is_large = value.size() > 18 &&
                        std::isdigit(static_cast<unsigned char>(value[1])) != 0 &&
                        value.find_first_not_of("+-0123456789_") == std::string_view::npos;
  if (is_large) return fmt::format("write a number up to {}: {} = ...", INT64_MAX, key);
  const bool is_word =
      !value.empty() && (std::isalpha(static_cast<unsigned char>(value.front())) != 0 ||
                         value.front() == '/' || value.front() == '.');
  if (is_word && value.find('"') == std::string_view::npos)
    return fmt::format("text goes in quotes: {} = \"{}\"", key, brief(value));
  return "correct that line; toml.io shows the syntax";
}

Fault fault_of(const toml::parse_error& error, std::string_view origin, const Line& line) {
  const std::uint32_t number = error.source().begin.line;
  Fault fault{.message = error_message(
                  fmt::format("{}:{}: {}", brief(origin), number, brief(error.description())),
                  "the run file must be TOML", suggestion_for(line.text)),
              .is_placed = true};
  fault.order.second = number;
  return fault;
}

/// Makes one attempt to parse the text. If that fails, blanks the broken part before the next
/// attempt, or leaves only the lines above it and notes that the rest is not read.
class Attempt {
 public:
  Attempt(std::string& text, std::string_view origin, TomlText& read)
      : text_(&text), origin_(origin), read_(&read) {}

  bool succeeds() {
    try {
      read_->parts.push_back(toml::parse(*text_, origin_));
      return true;
    } catch (const toml::parse_error& error) {
      take_out(error);
    }
    return false;
  }

 private:
  void take_out(const toml::parse_error& error) {
    const Line line = line_of(*text_, error.source().begin.line);
    Fault fault = fault_of(error, origin_, line);
    // Otherwise something above the line is left open, or there are too many broken lines.
    const bool alone = is_toml(line.before) && read_->faults.size() + 1 < kMostBroken;
    const bool again = alone && is_header(line.text) && is_toml(line.text);
    if (alone && is_whole(line.text)) {
      fault.keys.push_back(key_of(line));
      text_->replace(line.begin, line.end - line.begin, line.end - line.begin, ' ');
    } else if (again) {
      part(line);
    } else {
      fault.keys.emplace_back(kEverySetting);
      text_->resize(whole_part(line.before));
    }
    read_->faults.push_back(std::move(fault));
  }

  /// Reads the text above the line; the text below keeps its line numbers.
  void part(const Line& line) {
    read_->parts.push_back(toml::parse(line.before, origin_));
    for (std::size_t i = 0; i < line.begin; ++i)
      if ((*text_)[i] != '\n') (*text_)[i] = ' ';
  }

  /// Bytes of the lines above the broken part; for a list or a string that is never closed, of the
  /// lines above its key.
  static std::size_t whole_part(std::string_view text) {
    constexpr int kLines = 50;
    for (int i = 0; i < kLines && !text.empty(); ++i) {
      if (is_toml(text)) return text.size();
      const auto above = text.find_last_of('\n', text.size() - 2);
      text = text.substr(0, text.size() < 2 || above == std::string_view::npos ? 0 : above + 1);
    }
    return 0;
  }

  std::string* text_;
  std::string_view origin_;
  TomlText* read_;
};

}  // namespace

TomlText read_toml(std::string_view text, std::string_view origin) {
  TomlText read;
  try {
    check_limits(text, origin);
  } catch (const ConfigError& error) {
    require_no_faults<ConfigError>({{error.what(), {kEverySetting}, true}});
  }
  std::string left(text);
  while (!Attempt(left, origin, read).succeeds()) {
  }
  return read;
}

toml::table parse_toml(std::string_view text, std::string_view origin) {
  check_limits(text, origin);
  return toml::parse(text, origin);
}

}  // namespace rollcall
