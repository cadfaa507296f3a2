// References that hold more than an answer: a JSON object in Prompt::answer, written by a task or
// by a user's file.
#pragma once

#include "base/errors/error.hpp"
#include "base/text/foreign_json.hpp"
#include "base/text/json.hpp"
#include "reward/graders.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rollcall::reward {

using Json = nlohmann::json;

/// Thrown by the reader of a reference. read_reference() turns it into an InputError.
struct ReferenceFault {
  std::string text;
};
inline void check_reference(bool ok, const char* fault) {
  if (!ok) throw ReferenceFault{fault};
}

/// The value as an integer from low to high. Throws ReferenceFault for any other value.
inline std::int64_t whole_number(const Json& value, std::int64_t low, std::int64_t high) {
  check_reference(value.is_number_integer() && value >= low && value <= high,
                  "a whole number is missing or out of range");
  return value.get<std::int64_t>();
}

/// Returns read(reference) for the JSON object of the prompt's reference. `form` is an example of
/// the form, for the message. Throws InputError.
template <class Read>
auto read_reference(const Prompt& prompt, const char* form, Read&& read) {
  std::string fault;
  const auto json = parse_foreign<Json>(prompt.answer, fault);
  try {
    check_reference(fault.empty(), fault.c_str());
    return read(json);
  } catch (const ReferenceFault& f) {
    fault = f.text;
  } catch (const Json::exception& e) {
    fault = fault_of(e);
  }
  throw InputError(
      error_message("the reference " + prompt.answer.substr(0, 200) + " cannot be used: " + fault,
                    "responses could not be judged", std::string("it should be like ") + form));
}

/// The answer; nothing if there is none or if the token limit may have cut it.
inline std::optional<std::string_view> complete_answer(const Response& response) {
  if (!response.answer || !response.answer->complete) return std::nullopt;
  return std::string_view(response.answer->text);
}

/// A score that is correct if its first component is 1.
inline Score score_of(std::vector<double> components, std::string answer, std::string reason = {}) {
  const bool correct = components.at(0) == 1.0;
  return {.components = std::move(components),
          .correct = correct,
          .answer = std::move(answer),
          .reason = correct ? std::string() : std::move(reason)};
}

inline Score no_answer(std::size_t components) {
  return score_of(std::vector<double>(components, 0.0), {},
                  "no answer, or one that the token limit may have cut");
}

inline double share(std::size_t part, std::size_t whole) {
  return whole == 0 ? 1.0 : double(part) / double(whole);
}

}  // namespace rollcall::reward
