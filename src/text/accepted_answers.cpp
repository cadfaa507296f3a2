// A list is told from one answer by its first bytes, so that plain references cost nothing.
#include "text/accepted_answers.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace rollcall::text {

using nlohmann::json;

std::string accepting(const std::vector<std::string>& answers) {
  return answers.size() == 1 ? answers.front() : json(answers).dump(-1, ' ', false, json::error_handler_t::replace);
}

std::vector<std::string> accepted_answers(std::string_view reference) {
  const auto begin = reference.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos || reference[begin] != '[' || reference.find('"') == std::string_view::npos) return {};
  const json list = json::parse(reference, nullptr, false);
  const bool texts = list.is_array() && list.size() > 1 && std::all_of(list.begin(), list.end(), [](const json& one) { return one.is_string(); });
  return texts ? list.get<std::vector<std::string>>() : std::vector<std::string>();
}

std::string first_accepted(const std::string& reference) {
  const auto accepted = accepted_answers(reference);
  return accepted.empty() ? reference : accepted.front();
}

}  // namespace rollcall::text
