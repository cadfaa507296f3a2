// Judges where a solution goes wrong: by the index of its first wrong step, or -1 for a solution
// without one.
#include "reward/reference.hpp"
#include "text/answer/answer_text.hpp"
#include "text/answer/plain_latex.hpp"

#include <charconv>
#include <cstdlib>

namespace rollcall::reward {
namespace {

struct Flaw {
  std::int64_t error = -1, steps = 1;
};

Flaw read_flaw(const Json& reference) {
  constexpr std::int64_t kMostSteps = 1'000'000;
  const std::int64_t steps = whole_number(reference.at("steps"), 1, kMostSteps);
  return {whole_number(reference.at("error"), -1, steps - 1), steps};
}

std::optional<std::int64_t> index_of(std::string_view text, const Flaw& flaw) {
  const std::string digits = text::normal_answer(text::plain_latex(text));
  std::int64_t index = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  const bool is_index = error == std::errc{} && end == digits.data() + digits.size() &&
                        index >= -1 && index < flaw.steps;
  return is_index ? std::optional(index) : std::nullopt;
}

}  // namespace

Score judge_error_index(const Prompt& prompt, const Response& response) {
  const Flaw flaw = read_reference(
      prompt, R"({"error": 2, "steps": 5}, with -1 for a solution without a wrong step)",
      read_flaw);
  const auto text = complete_answer(response);
  const auto index = text ? index_of(*text, flaw) : std::nullopt;
  if (!index) return no_answer(4);
  const bool verdict = (*index < 0) == (flaw.error < 0);
  const double distance = *index >= 0 && flaw.error >= 0
                              ? double(std::llabs(*index - flaw.error)) / double(flaw.steps)
                              : 0.0;
  return score_of({double(*index == flaw.error), 1.0, double(verdict), distance},
                  std::to_string(*index), "another step");
}

}  // namespace rollcall::reward
