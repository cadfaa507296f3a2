// Verifiers: a group of responses in, named reward components out. They see whole groups (votes, diversity); most look at one response at a time.
#pragma once

#include "core/rollout.hpp"
#include "core/run_config.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rollcall::reward {

/// A row of the table reward/verifiers.cpp. Pure functions; never throw on any response text.
struct Verifier {
  const char* name;
  const char* meaning;
  std::vector<std::string> components;  ///< names, in the order of Score::components; the first is "correct"
  /// Fills components, correct and answer of one response. `finished` is false when the token limit cut it.
  Score (*judge)(const Prompt& prompt, std::string_view response, bool finished, const TaskSection& section);
};

const Verifier& find_verifier(const std::string& name);  ///< throws ConfigError naming the nearest
std::vector<std::string> verifier_names();

/// Scores of a group: judge() each, reward = correct + format_weight * format (clamped to what the components give).
std::vector<Score> score_group(const Verifier& verifier, const Prompt& prompt, std::span<const std::string> responses, std::span<const bool> finished,
                               const TaskSection& section);

}  // namespace rollcall::reward
