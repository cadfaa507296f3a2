// Multiplies settings that no check has seen yet, so products are capped at 2^53.
#include "core/second_pass_bounds.hpp"

#include <algorithm>
#include <cmath>

namespace rollcall {
namespace {

constexpr std::int64_t kOfAGroup = 4;  // prompts, unless every answer is asked about

std::int64_t product(std::int64_t a, std::int64_t b) {
  constexpr double kMost = 9007199254740992.0;  // 2^53, up to which doubles are exact
  return std::int64_t(std::min(double(a) * double(b), kMost));
}

}  // namespace

bool names_errors(const SecondPassSection& settings) {
  return settings.kind == "error" ||
         (settings.kind == "refinement" && settings.feedback == "critique");
}

SecondPassBounds second_pass_bounds(const RunConfig& config) {
  const SecondPassSection& s = config.second_pass;
  const TrainSection& t = config.train;
  if (s.kind != "refinement" && s.kind != "error") return {};
  SecondPassBounds bounds;
  const std::int64_t largest = config.scheduler.max_rollouts;
  const bool every = s.of == "every";
  bounds.parents = std::int64_t(std::floor(s.share * double(t.prompts_per_step) + 1e-9));
  bounds.of_a_group = every ? largest : std::min(kOfAGroup, largest);
  bounds.prompts = product(bounds.parents, bounds.of_a_group);
  if (every)
    bounds.prompts = std::min(bounds.prompts, product(t.prompts_per_step, t.rollouts_per_prompt));
  bounds.rounds = names_errors(s) ? 2 : 1;
  bounds.rollouts = product(bounds.prompts, s.rollouts + (names_errors(s) ? 1 : 0));
  return bounds;
}

}  // namespace rollcall
