// One line after the other.
#include "task/json_lines.hpp"

#include "base/error.hpp"
#include "base/exact_number.hpp"
#include "base/file.hpp"
#include "text/answer_text.hpp"
#include "text/text_files.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rollcall::task {
namespace {

using namespace std::string_view_literals;

/// Files of other kinds by their first bytes, and what makes lines of JSON of them.
struct Kind {
  std::string_view begins;
  const char* name;
  const char* suggestion;
};
constexpr Kind kKinds[] = {
    {"PAR1"sv, "a parquet file", "python3 -c 'import pandas; pandas.read_parquet(\"IN\").to_json(\"OUT\", orient=\"records\", lines=True)'"},
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

void require_lines(const std::string& file, std::string_view content) {
  for (const Kind& kind : kKinds)
    require<InputError>(!content.starts_with(kind.begins), fmt::format("{} is {}", file, kind.name), "what is read is text, one JSON object a line",
                        kind.suggestion);
  require<InputError>(!text::trim(content.substr(0, 4096)).starts_with('['), fmt::format("{} begins with [", file),
                      "it seems to be one JSON array, and what is read is one JSON object a line", "jq -c '.[]' IN > OUT");
}

nlohmann::json parse_object(const Line& line) {
  line.require_that(text::valid_utf8(line.text) == line.text, "not UTF-8", "the file may be Latin-1, or damaged",
                    "iconv -f ISO-8859-1 -t UTF-8 IN > OUT, or correct the line");
  nlohmann::json object;
  try {
    object = nlohmann::json::parse(line.text);
  } catch (const nlohmann::json::parse_error& e) {
    line.require_that(false, fmt::format("not JSON at byte {}", e.byte), "every line must be one JSON object", "correct or remove the line");
  } catch (const nlohmann::json::exception&) {  // a number beyond a double
    line.require_that(false, "a number out of range", "JSON has none beyond 1e308 here", "write it as text");
  }
  line.require_that(object.is_object(), "not a JSON object", "every line must be one JSON object", "correct or remove the line");
  return object;
}

}  // namespace

void Line::require_that(bool ok, std::string_view problem, std::string_view why, std::string_view suggestion) const {
  require<InputError>(ok, fmt::format("{}:{}: {}", file, number, problem), why, suggestion);
}

void each_json_line(const std::string& file, const std::function<void(const nlohmann::json&, const Line&)>& each) {
  const std::string content = read_file(file);
  require_lines(file, content);
  std::size_t number = 0;
  for (std::string_view rest = content; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const Line line{file, ++number, text::trim(rest.substr(0, end))};
    if (!line.text.empty()) each(parse_object(line), line);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
}

std::string text_at(const nlohmann::json& object, const std::string& key, std::string_view setting, const Line& line) {
  const auto at = object.find(key);
  line.require_that(at != object.end(), fmt::format("has no key \"{}\"", key), "a question and an answer are needed", fmt::format("set {}", setting));
  if (at->is_number()) return exact_number(line.text, key);
  line.require_that(at->is_string(), fmt::format("\"{}\" is neither text nor a number", key), "it goes into a prompt or solution",
                    fmt::format("set {} or correct the line", setting));
  return at->get<std::string>();
}

}  // namespace rollcall::task
