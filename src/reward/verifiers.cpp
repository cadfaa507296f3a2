// The table of verifiers, and the scalar reward.
#include "base/error.hpp"
#include "base/nearest.hpp"
#include "reward/judges.hpp"
#include "reward/verifier.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rollcall::reward {
namespace {

const std::vector<Verifier>& table() {
  static const std::vector<Verifier> rows = {
      {"exact_match", "the reference itself (sorting)", {"correct", "format"}, judge_exact_match},
      {"integer_answer", "a canonical integer, or quotient r remainder (arithmetic)", {"correct", "format"}, judge_integer_answer},
      {"countdown_expression", "an expression that reaches the target (countdown)", {"correct", "format"}, judge_countdown_expression},
      {"marked_answer", "a number or text after a marker (jsonl)", {"correct", "format"}, judge_marked_answer},
  };
  return rows;
}

}  // namespace

std::vector<std::string> verifier_names() {
  std::vector<std::string> names;
  for (const Verifier& row : table()) names.emplace_back(row.name);
  return names;
}

const Verifier& find_verifier(const std::string& name) {
  const auto row = std::find_if(table().begin(), table().end(), [&](const Verifier& v) { return v.name == name; });
  require<ConfigError>(row != table().end(), fmt::format("verifier \"{}\" is unknown", name), "responses could not be judged",
                       suggest_name(name, verifier_names()));
  return *row;
}

std::vector<Score> score_group(const Verifier& verifier, const Prompt& prompt, std::span<const std::string> responses, std::span<const bool> finished,
                               const TaskSection& section) {
  expect(responses.size() == finished.size(), "one finished flag a response");
  std::vector<Score> scores;
  scores.reserve(responses.size());
  for (std::size_t i = 0; i < responses.size(); ++i) {
    Score score = verifier.judge(prompt, responses[i], finished[i], section);
    score.reward = score.components[0] + section.format_weight * score.components[1];  // in [0, 1 + format_weight]
    scores.push_back(std::move(score));
  }
  return scores;
}

}  // namespace rollcall::reward
