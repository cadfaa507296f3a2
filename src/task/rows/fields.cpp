// Walks along dotted names.
#include "task/rows/fields.hpp"

#include "base/text/foreign_json.hpp"

#include <fmt/format.h>

#include <cmath>

namespace rollcall::task {
namespace {

using Json = nlohmann::json;
constexpr double kExact = 9007199254740992.0;  // 2^53, up to which a double holds whole numbers

/// The value itself, or the object that it spells as JSON.
Json opened(const Json& value) {
  if (!value.is_string()) return value;
  std::string fault;
  Json inner = parse_foreign<Json>(value.get_ref<const std::string&>(), fault);
  return fault.empty() ? inner : Json();
}

Json at_path(const Json& row, std::string_view path) {
  if (!row.is_object()) return {};
  if (const auto whole = row.find(std::string(path)); whole != row.end()) return *whole;
  for (std::size_t dot = path.find('.'); dot != std::string_view::npos;
       dot = path.find('.', dot + 1)) {
    const auto first = row.find(std::string(path.substr(0, dot)));
    if (first != row.end()) return at_path(opened(*first), path.substr(dot + 1));
  }
  return {};
}

/// Calls `each` with every alternative until it returns true.
template <class Each>
void each_name(std::string_view names, const Each& each) {
  while (!names.empty()) {
    const std::size_t bar = std::min(names.find('|'), names.size());
    if (each(names.substr(0, bar))) return;
    names.remove_prefix(std::min(bar + 1, names.size()));
  }
}

}  // namespace

Json field_of(const Json& row, std::string_view name) {
  Json found;
  each_name(name, [&](std::string_view one) {
    found = at_path(row, one);
    return !found.is_null();
  });
  return found;
}

std::string_view present_name(const Json& row, std::string_view names) {
  std::string_view present = names.substr(0, names.find('|'));
  each_name(names, [&](std::string_view one) {
    const bool has = !at_path(row, one).is_null();
    if (has) present = one;
    return has;
  });
  return present;
}

std::string number_text(const Json& number) { return number.dump(); }

std::string text_of_field(const Json& row, std::string_view names, std::string_view setting,
                          const Line& line) {
  const std::string name(present_name(row, names));
  if (row.contains(name) || name.find('.') == std::string::npos)
    return text_at(row, name, setting, line);
  const Json value = field_of(row, name);
  const std::string suggestion =
      fmt::format("set {} to the field of the rows, or correct the line", setting);
  line.require_that(!value.is_null(), fmt::format("has no field \"{}\"", name),
                    "a question and an answer are needed", suggestion);
  const bool exact =
      value.is_number_integer() || (value.is_number() && std::abs(value.get<double>()) < kExact);
  line.require_that(value.is_string() || exact,
                    fmt::format("\"{}\" is neither text nor a number", name),
                    "it goes into a prompt or solution", suggestion);
  return value.is_string() ? value.get<std::string>() : number_text(value);
}

std::vector<std::string> texts_of(const Json& list, std::string_view what, const Line& line) {
  line.require_that(list.is_array(), fmt::format("\"{}\" is not a list", what),
                    "each of its entries is read", "correct or remove the line");
  std::vector<std::string> texts;
  for (const Json& one : list) {
    line.require_that(one.is_string() || one.is_number(),
                      fmt::format("\"{}\" lists something that is neither text nor a number", what),
                      "each of its entries is read", "correct or remove the line");
    texts.push_back(one.is_string() ? one.get<std::string>() : number_text(one));
  }
  return texts;
}

}  // namespace rollcall::task
