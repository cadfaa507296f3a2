// Defaults for pieces without state, and for rounds that end after the first one.
#include "scheduling/piece.hpp"

#include "base/errors/error.hpp"
#include "base/text/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace rollcall::scheduling {

nlohmann::json Piece::save() const { return nlohmann::json::object(); }

void Piece::load(const nlohmann::json& state) {
  require<StorageError>(state.is_object() && state.empty(),
                        "the saved state of a piece that keeps none is not empty",
                        "the run would not continue where it stopped",
                        "resume with the scheduler section the run was started with");
}

bool Piece::load_changed(const nlohmann::json& state, const PromptMap&) { return state.empty(); }

std::optional<Shortage> no_room_to_differ(const StepRequest& request, std::int64_t least,
                                          std::int64_t most) {
  const std::int64_t low = std::max(least, request.min_rollouts),
                     high = std::min(most, request.max_rollouts),
                     mean = request.budget / request.prompts;
  if (low * request.prompts < request.budget && request.budget < high * request.prompts)
    return std::nullopt;
  const bool above = request.budget >= high * request.prompts,
             by_knob = above ? most < request.max_rollouts : least > request.min_rollouts;
  const std::string key = above ? by_knob ? "scheduler.knobs.most_arm" : "scheduler.max_rollouts"
                          : by_knob ? "scheduler.knobs.least_arm"
                                    : "scheduler.min_rollouts";
  return Shortage{
      fmt::format("gives prompts different counts, but {} is {} and train.rollouts_per_prompt {}",
                  key, above ? high : low, mean),
      above      ? fmt::format("set {}={}", key, 2 * mean)
      : mean > 1 ? fmt::format("set {}={}, or raise train.rollouts_per_prompt", key,
                               std::max<std::int64_t>(1, mean / 2))
                 : std::string("raise train.rollouts_per_prompt and scheduler.max_rollouts")};
}

std::optional<Shortage> no_room_for_more(const StepRequest& request, std::int64_t more) {
  const std::int64_t mean = request.budget / request.prompts;
  if (request.max_rollouts >= mean + more) return std::nullopt;
  return Shortage{
      fmt::format(
          "draws further rollouts of some prompts, but scheduler.max_rollouts is {} and train.rollouts_per_prompt {}",
          request.max_rollouts, mean),
      fmt::format("set scheduler.max_rollouts={}", std::max(2 * mean, mean + more))};
}

Decision Rounds::next(const StepRequest&, std::uint32_t, const std::vector<GroupReport>&,
                      Sampler&) {
  return {};
}

}  // namespace rollcall::scheduling
