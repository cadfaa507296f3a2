// One line after the other.
#include "task/json_lines.hpp"

#include "base/error.hpp"
#include "base/exact_number.hpp"
#include "base/file.hpp"
#include "text/answer_text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rollcall::task {
namespace {

nlohmann::json parse_object(const Line& line) {
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
