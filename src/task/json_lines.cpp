// Reads files line by line, or element by element.
#include "task/json_lines.hpp"

#include "base/errors/error.hpp"
#include "base/errors/faults.hpp"
#include "base/errors/visible.hpp"
#include "base/files/file.hpp"
#include "base/text/exact_number.hpp"
#include "base/text/foreign_json.hpp"
#include "base/text/joined.hpp"
#include "text/answer/answer_text.hpp"
#include "text/tokenizer/text_files.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <span>
#include <vector>

namespace rollcall::task {
namespace {

using namespace std::string_view_literals;

/// Other kinds of files, recognised by their first bytes, and how to turn them into lines of JSON.
struct Kind {
  std::string_view begins;
  const char* name;
  const char* suggestion;
};
constexpr Kind kKinds[] = {
    {"PAR1"sv, "a parquet file", "turn it into lines: scripts/to_jsonl IN.parquet --out OUT.jsonl"},
    {"ARROW1"sv, "an Arrow file", "turn it into lines: scripts/to_jsonl IN.arrow --out OUT.jsonl"},
    {"\x1F\x8B"sv, "compressed by gzip", "unpack it: gunzip FILE"},
    {"\x28\xB5\x2F\xFD"sv, "compressed by zstd", "unpack it: unzstd FILE"},
    {"BZh"sv, "compressed by bzip2", "unpack it: bunzip2 FILE"},
    {"\xFD"
     "7zXZ"sv,
     "compressed by xz", "unpack it: unxz FILE"},
    {"PK\x03\x04"sv, "a zip archive", "unpack it: unzip FILE"},
    {"\xFF\xFE"sv, "UTF-16 text", "iconv -f UTF-16 -t UTF-8 IN > OUT"},
    {"\xFE\xFF"sv, "UTF-16 text", "iconv -f UTF-16 -t UTF-8 IN > OUT"},
    {"{\0"sv, "UTF-16 text", "iconv -f UTF-16LE -t UTF-8 IN > OUT"},
    {"\0{"sv, "UTF-16 text", "iconv -f UTF-16BE -t UTF-8 IN > OUT"},
};

/// The first line that is not blank.
std::string_view first_line(std::string_view content) {
  const std::string_view text = text::trim(content);
  return text.substr(0, text.find('\n'));
}

/// Whether the file is a table: its first lines have fields and are not objects. `content` may be
/// the beginning of a file.
bool is_table(std::string_view content) {
  constexpr int kLines = 3;
  std::string_view rest = text::trim(content);
  const std::string_view head = first_line(rest);
  if (head.find_first_of(",;\t") == std::string_view::npos) return false;
  for (int i = 0; i < kLines && !rest.empty(); ++i) {
    if (rest.starts_with('{') || rest.starts_with('[')) return false;
    rest.remove_prefix(first_line(rest).size());
    rest = text::trim(rest);
  }
  return true;
}

/// The content without the byte order mark that some programs write before text.
std::string_view without_mark(std::string_view content) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  return content.starts_with(kMark) ? content.substr(kMark.size()) : content;
}

void require_lines(const std::string& file, std::string_view content) {
  for (const Kind& kind : kKinds)
    require<InputError>(!content.starts_with(kind.begins), fmt::format("{} is {}", file, kind.name),
                        "what is read is text, one JSON object a line or one array of them",
                        kind.suggestion);
  require<InputError>(!is_table(content.substr(0, 65536)),
                      fmt::format("{} seems to be CSV, with the first line \"{}\"", file,
                                  visible(brief(std::string(first_line(content)), 60))),
                      "what is read is one JSON object a line or one array of them",
                      "scripts/to_jsonl IN.csv --out OUT.jsonl");
}

/// The text of each row in a file: its lines, or its elements if it is one array. Elements are
/// found only by brackets, commas and quotes, at any depth of nesting.
class RowTexts {
 public:
  explicit RowTexts(std::string_view content) : rest_(content) {
    const std::string_view begin = text::trim(content.substr(0, 4096));
    if (!begin.starts_with('[')) return;
    is_array_ = true;
    rest_.remove_prefix(rest_.find('[') + 1);
  }

  /// Sets the next row's text and number. Returns false after the last one.
  bool next(std::string_view& text, std::size_t& number) {
    if (rest_.empty() || closed_) return false;
    const std::size_t end = is_array_ ? element_end() : rest_.find('\n');
    const bool last = end == std::string_view::npos;
    const char ender = last ? '\0' : rest_[end];
    text = text::trim(rest_.substr(0, end)), number = ++number_;
    rest_.remove_prefix(last ? rest_.size() : end + 1);
    if (!is_array_) return true;
    closed_ = ender == ']';
    // an empty array has no element, and an array cut off between two elements has no further one
    if (text.empty() && (closed_ ? number_ == 1 : last)) return false;
    return true;
  }
  /// The fault of the array as a whole, once all rows are read; empty if there is none.
  const char* fault() const {
    if (!is_array_) return "";
    if (!closed_) return "the array is not closed";
    return text::trim(rest_).empty() ? "" : "something follows the array";
  }
  /// Whether the row just read is the last one in an unclosed array.
  bool is_cut() const { return is_array_ && !closed_ && rest_.empty(); }
  bool is_array() const { return is_array_; }
  std::size_t number() const { return number_; }

 private:
  std::size_t element_end() const {
    std::int64_t depth = 0;
    bool quoted = false;
    for (std::size_t i = 0; i < rest_.size(); ++i) {
      const char c = rest_[i];
      if (quoted && c == '\\') ++i;
      else if (c == '"') quoted = !quoted;
      else if (quoted) continue;
      else if (depth <= 0 && (c == ',' || c == ']')) return i;
      else if (c == '{' || c == '[') ++depth;
      else if (c == '}' || c == ']') --depth;
    }
    return std::string_view::npos;
  }

  std::string_view rest_;
  bool is_array_ = false, closed_ = false;
  std::size_t number_ = 0;
};

/// The first `bytes` of a file. Throws as read_file() does.
std::string read_head(const std::string& file, std::size_t bytes) {
  std::ifstream in(file, std::ios::binary);
  if (!in) return read_file(file).substr(0, bytes);
  std::string head(bytes, '\0');
  in.read(head.data(), std::streamsize(bytes));
  head.resize(std::size_t(std::max<std::streamsize>(in.gcount(), 0)));
  return head;
}

nlohmann::json parse_object(const Line& line) {
  line.require_that(text::valid_utf8(line.text) == line.text, "not UTF-8",
                    "the file may be Latin-1, or damaged",
                    "iconv -f ISO-8859-1 -t UTF-8 IN > OUT, or correct the line");
  const JsonOutline outline = outline_of(line.text);
  line.require_that(!outline.too_deep, "its brackets nest too deep",
                    fmt::format("up to {} levels are read", kJsonDepth),
                    "correct or remove the line");
  nlohmann::json object;
  try {
    object = nlohmann::json::parse(line.text);
  } catch (const nlohmann::json::parse_error& e) {
    line.require_that(std::string_view(e.what()).find("surrogate") == std::string_view::npos,
                      fmt::format("half of a surrogate pair at byte {}", e.byte),
                      "\\uD800 to \\uDFFF are characters only in pairs",
                      "write the character itself, or \\uFFFD in place of the half");
    line.require_that(false, fmt::format("not JSON at byte {}", e.byte),
                      "every line must be one JSON object", "correct or remove the line");
  } catch (const nlohmann::json::exception&) {  // a number beyond the range of a double
    line.require_that(false, "a number out of range", "JSON has none beyond 1e308 here",
                      "write it as text");
  }
  line.require_that(object.is_object(), "not a JSON object", "every line must be one JSON object",
                    "correct or remove the line");
  if (members_of(object) != outline.keys)
    line.require_that(
        false, fmt::format("the key \"{}\" stands twice", visible(brief(repeated_key(line.text)))),
        "only one of the two values would count", "remove the other");
  return object;
}

/// The mistakes in a file's lines; each distinct mistake is kept once, with the lines that have it.
class BrokenLines {
 public:
  /// Adds the mistakes of a line. Returns whether to read on: false once there are 100 distinct
  /// mistakes.
  bool add(const Line& line, const InputError& error) {
    if (const auto* several = dynamic_cast<const FaultList*>(&error))
      for (const Fault& fault : several->all()) add(line, fault.message);
    else add(line, error.what());
    return mistakes_.size() < kMost;
  }

 private:
  void add(const Line& line, const std::string& said) {
    const std::string place = fmt::format("{}:{}: ", line.file, line.number);
    const bool is_ours = said.starts_with(place);
    const std::string problem = is_ours ? said.substr(place.size()) : said;
    const auto same = std::find_if(mistakes_.begin(), mistakes_.end(),
                                   [&](const Mistake& m) { return m.problem == problem; });
    if (same != mistakes_.end()) same->more.push_back(line.number);
    else mistakes_.push_back({is_ours ? place : std::string(), problem, {}});
  }

 public:
  /// Throws InputError if there are any mistakes.
  void refuse() const {
    std::vector<Fault> faults;
    for (const Mistake& mistake : mistakes_)
      faults.push_back(
          {.message = mistake.place + mistake.problem + others(mistake.more), .is_placed = true});
    require_no_faults<InputError>(std::move(faults));
  }

 private:
  static constexpr std::size_t kMost = 100, kNamed = 5;
  struct Mistake {
    std::string place, problem;
    std::vector<std::size_t> more;
  };
  static std::string others(const std::vector<std::size_t>& lines) {
    if (lines.empty()) return {};
    const std::span named(lines.data(), std::min(lines.size(), kNamed));
    const std::string list = fmt::format("{}", fmt::join(named, ", "));
    if (lines.size() <= kNamed)
      return fmt::format(" (the same on {} {})", lines.size() == 1 ? "line" : "lines", list);
    return fmt::format(" (the same on lines {} and {} others)", list, lines.size() - kNamed);
  }

  std::vector<Mistake> mistakes_;
};

/// Calls `each` for every line with text. If that throws InputError, `refused` gets the line and
/// the error and returns whether to read on.
void read_lines(const std::string& file, const EachLine& each,
                const std::function<bool(const Line&, const InputError&)>& refused) {
  const std::string whole = read_file(file);
  const std::string_view content = without_mark(whole);
  require_lines(file, content);
  RowTexts rows(content);
  std::string_view text;
  for (std::size_t number = 0; rows.next(text, number);) {
    const Line line{file, number, text};
    try {
      if (!line.text.empty() || rows.is_array()) each(parse_object(line), line);
    } catch (const InputError& error) {
      // An array cut off within a row is reported only once, as that.
      const bool is_cut_row =
          rows.is_cut() && !outline_of(text).too_deep && !nlohmann::json::accept(text);
      if (!is_cut_row && !refused(line, error)) return;
    }
  }
  if (*rows.fault() == '\0') return;
  const Line last{file, std::max<std::size_t>(rows.number(), 1), {}};
  try {
    last.require_that(false, rows.fault(), "the file may be cut, or two files in one",
                      "write it again: one JSON array, or one JSON object a line");
  } catch (const InputError& error) {
    refused(last, error);
  }
}

}  // namespace

void Line::require_that(bool ok, std::string_view problem, std::string_view why,
                        std::string_view suggestion) const {
  require<InputError>(ok, fmt::format("{}:{}: {}", file, number, problem), why, suggestion);
}

void each_json_line(const std::string& file, const EachLine& each) {
  BrokenLines broken;
  read_lines(file, each,
             [&](const Line& line, const InputError& error) { return broken.add(line, error); });
  broken.refuse();
}

void each_whole_json_line(const std::string& file, const EachLine& each) {
  read_lines(file, each, [](const Line&, const InputError&) { return true; });
}

void each_first_row(const std::string& file,
                    const std::function<bool(const nlohmann::json& object)>& each) {
  constexpr std::size_t kHead = std::size_t{4} << 20;  // bytes
  constexpr int kRows = 100;
  std::string whole = read_head(file, kHead);
  std::string_view content = without_mark(whole);
  require_lines(file, content);
  bool cut = whole.size() == kHead;
  if (cut && content.find('\n') == std::string::npos && !text::trim(content).starts_with('[')) {
    whole = read_file(file);  // the first row is longer than that
    content = without_mark(whole), cut = false;
  }
  RowTexts rows(content);
  std::string_view text;
  int seen = 0;
  for (std::size_t number = 0; seen < kRows && rows.next(text, number);) {
    const bool last = text.data() + text.size() == content.data() + content.size();
    if (text.empty() || (cut && last && seen > 0)) continue;
    nlohmann::json object;
    try {
      object = parse_object({file, number, text});
    } catch (const InputError&) {
      continue;
    }
    ++seen;
    if (!each(object)) return;
  }
}

DroppedLines each_good_line(const std::string& file, const EachLine& each) {
  DroppedLines dropped;
  read_lines(file, each, [&](const Line&, const InputError& error) {
    if (dropped.count++ == 0) dropped.first = error.what();
    return true;
  });
  return dropped;
}

void require_key(const nlohmann::json& object, const std::string& key, const Line& line,
                 std::string_view why, std::string_view suggestion) {
  if (object.contains(key)) return;
  constexpr std::size_t kNamed = 8;
  std::vector<std::string> others;
  for (const auto& [name, value] : object.items())
    others.push_back(fmt::format("\"{}\"", visible(brief(name, 40))));
  const std::size_t more = others.size() - std::min(others.size(), kNamed);
  others.resize(others.size() - more);
  const std::string has = others.empty()
                              ? "is empty"
                              : fmt::format("has {}{}", joined(others, ", "),
                                            more > 0 ? fmt::format(" and {} more", more) : "");
  line.require_that(false, fmt::format("has no key \"{}\": it {}", key, has), why, suggestion);
}

std::string text_at(const nlohmann::json& object, const std::string& key, std::string_view setting,
                    const Line& line) {
  require_key(object, key, line, "a question and an answer are needed",
              fmt::format("set {} to the field of the rows, or correct the line", setting));
  const auto at = object.find(key);
  if (at->is_number()) return exact_number(line.text, key);
  line.require_that(at->is_string(), fmt::format("\"{}\" is neither text nor a number", key),
                    "it goes into a prompt or solution",
                    fmt::format("set {} or correct the line", setting));
  return at->get<std::string>();
}

}  // namespace rollcall::task
