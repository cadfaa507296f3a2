// Types, ranges and lengths of JSON values.
#include "scheduling/trace/trace_json.hpp"

#include "base/errors/error.hpp"
#include "base/errors/nearest.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rollcall::scheduling {

using nlohmann::json;

void check_line(bool ok, const std::string& problem, const std::string& suggestion,
                const char* why) {
  require<InputError>(ok, problem, why, suggestion);
}

void check_keys(const json& object, const std::vector<std::string>& valid, const char* what) {
  for (const auto& [key, value] : object.items()) {
    check_line(std::find(valid.begin(), valid.end(), key) != valid.end(),
               fmt::format("{} has no key \"{}\"", what, key), suggest_name(key, valid));
  }
}

const json& member(const json& object, const char* key) {
  const auto found = object.find(key);
  check_line(found != object.end(), fmt::format("\"{}\" is missing", key),
             fmt::format("give \"{}\"", key));
  return *found;
}

std::int64_t whole(const json& value, const std::string& name, std::int64_t least,
                   std::int64_t most) {
  check_line(value.is_number_integer() && value >= least && value <= most,
             fmt::format("\"{}\" is {}", name, value.dump()),
             fmt::format("write an integer from {} to {}", least, most));
  return value.get<std::int64_t>();
}

double number(const json& value, const std::string& name) {
  check_line(value.is_number(), fmt::format("\"{}\" is {}", name, value.dump()), "write a number");
  return value.get<double>();
}

const json& list(const json& value, const std::string& name, std::optional<std::size_t> size) {
  check_line(value.is_array(), fmt::format("\"{}\" is not a list", name), "write it in brackets");
  check_line(!size || value.size() == *size,
             fmt::format("\"{}\" has {} entries, not {}", name, value.size(), size.value_or(0)),
             "write one for each");
  return value;
}

std::vector<double> numbers(const json& value, const std::string& name,
                            std::optional<std::size_t> size) {
  std::vector<double> all;
  for (const auto& entry : list(value, name, size)) all.push_back(number(entry, name));
  return all;
}

}  // namespace rollcall::scheduling
