// The first bytes of a reference say whether it is a list, so that plain ones cost nothing.
#include "text/answer/accepted_answers.hpp"

#include "base/text/json.hpp"

#include <algorithm>

namespace rollcall::text {

using nlohmann::json;

namespace {

constexpr char kMark = '\x1e';

/// The strings in a JSON list, if it holds nothing but strings and at least `fewest` of them; else
/// empty.
std::vector<std::string> listed(std::string_view text, std::size_t fewest) {
  const auto begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos || text[begin] != '[' ||
      text.find('"') == std::string_view::npos)
    return {};
  const json list = json::parse(text, nullptr, false);
  const bool texts =
      list.is_array() && list.size() >= fewest &&
      std::all_of(list.begin(), list.end(), [](const json& one) { return one.is_string(); });
  return texts ? list.get<std::vector<std::string>>() : std::vector<std::string>();
}

bool is_marked(std::string_view reference) { return reference.starts_with(kMark); }

std::string as_json(const std::vector<std::string>& answers) {
  return json(answers).dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace

std::string accepting(const std::vector<std::string>& answers) {
  return (answers.size() == 1 ? std::string(1, kMark) : std::string()) + as_json(answers);
}

std::string accepting(const std::string& answer) {
  return is_marked(answer) || !accepted_answers(answer).empty() ? std::string(2, kMark) + answer
                                                                : answer;
}

std::vector<std::string> accepted_answers(std::string_view reference) {
  return is_marked(reference) ? listed(reference.substr(1), 1) : listed(reference, 2);
}

std::string_view only_answer(std::string_view reference) {
  return is_marked(reference) && is_marked(reference.substr(1)) ? reference.substr(2) : reference;
}

std::string first_accepted(const std::string& reference) {
  const auto accepted = accepted_answers(reference);
  return accepted.empty() ? std::string(only_answer(reference)) : accepted.front();
}

std::string shown_reference(std::string_view reference) {
  const auto accepted = accepted_answers(reference);
  return accepted.empty() ? std::string(only_answer(reference)) : as_json(accepted);
}

}  // namespace rollcall::text
