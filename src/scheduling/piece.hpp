// What the four families of scheduling pieces have in common: knobs, learning, and a state that is
// a value.
#pragma once

#include "base/config.hpp"
#include "scheduling/prompts/knowledge.hpp"
#include "scheduling/prompts/prompt_map.hpp"
#include "scheduling/scheduler.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rollcall::scheduling {

/// Pure: what a piece answers depends on its state, the shared knowledge and the addressed random
/// streams alone. A piece without knobs, state or metrics leaves the members as they are.
class Piece {
 public:
  virtual ~Piece() = default;
  virtual void bind(ConfigSchema&) {}  ///< its knobs: key, variable, meaning, range; defaults are
                                       ///< the paper's
  virtual void learn(const std::vector<GroupReport>&) {}  ///< end of a step, ascending GroupId,
                                                          ///< after the shared knowledge has
                                                          ///< learned it
  virtual nlohmann::json save() const;                    ///< {} by default
  virtual void load(const nlohmann::json& state);  ///< throws StorageError or a json exception when
                                                   ///< it is not such a state
  /// load() of a state whose prompts were others. False: the piece begins anew, which is all that
  /// one can do whose state names prompts and that does not say how they are renumbered.
  virtual bool load_changed(const nlohmann::json& state, const PromptMap& map);
  virtual std::vector<std::pair<std::string, double>> metrics() const { return {}; }
  virtual std::vector<Need> needs() const { return {}; }  ///< as its knobs are now
  virtual bool hears_rewards() const { return false; }    ///< it reads GroupReport::rewards
  /// Scheduler::shortage
  virtual std::optional<Shortage> shortage(const StepRequest&) const { return std::nullopt; }
};

/// The n-th choice of a prompt within one step has draw n, from 0.
struct PromptDraw {
  PromptId prompt;
  std::uint32_t draw = 0;
  double probability = -1.0;  ///< chance of this choice; -1: not stated
};

/// Of counts that are to differ, each within [least, most] and the step's bounds: these leave every
/// prompt the same where the mean stands at one of their ends.
std::optional<Shortage> no_room_to_differ(const StepRequest& request, std::int64_t least,
                                          std::int64_t most);
/// Of rounds that add up to `more` rollouts (1 at least) to prompts that have the mean already.
std::optional<Shortage> no_room_for_more(const StepRequest& request, std::int64_t more);

/// Which prompts a step trains on.
class Sampler : public Piece {
 public:
  /// [request.prompts] draws. A refill asks again within a step, with the number of prompts it
  /// still needs; what the step holds already comes in `held` (ascending PromptId) and is not drawn
  /// again while other prompts are left.
  virtual std::vector<PromptDraw> choose(const StepRequest& request,
                                         const std::vector<PromptId>& held) = 0;
};

/// How many rollouts each chosen prompt gets.
class Allocator : public Piece {
 public:
  /// Counts are to differ; an allocator whose counts are equal says that it wants no room.
  std::optional<Shortage> shortage(const StepRequest& request) const override {
    return no_room_to_differ(request, request.min_rollouts, request.max_rollouts);
  }
  /// [groups] counts that sum to request.budget, each within the request's bounds; ends in
  /// apportion(), which makes the total exact.
  virtual std::vector<std::int64_t> counts(const StepRequest& request,
                                           const std::vector<GroupPlan>& groups) = 0;
};

/// How a step's rollouts are drawn: at once, or in rounds that look at what came back.
class Rounds : public Piece {
 public:
  /// What sampler and allocator are asked for in the first round (fewer rollouts than the budget
  /// when later rounds are to spend the rest).
  virtual StepRequest first(const StepRequest& request) const { return request; }
  /// true: another round is wanted, whatever comes back.
  virtual bool looks() const { return false; }
  /// Next round from `pool`, everything the step returned so far (ascending GroupId, fragments
  /// merged). Continued groups name their next sample number; new groups come from `sampler`. No
  /// groups: the step is closed, which last_round must say.
  virtual Decision next(const StepRequest& request, std::uint32_t round,
                        const std::vector<GroupReport>& pool, Sampler& sampler);
  virtual bool exact_total() const { return true; }
  virtual std::int64_t hard_cap(const StepRequest& request) const { return request.budget; }
  virtual std::int64_t most_rounds() const { return 1; }  ///< Scheduler::most_rounds
};

/// Which of the drawn rollouts train, and how strongly.
class Selection : public Piece {
 public:
  /// For every group whose weight is not 1 or whose rollouts do not all train; ascending GroupId;
  /// drawn and trained are filled in by the caller.
  virtual std::vector<GroupTraining> select(const StepRequest& request,
                                            const std::vector<GroupReport>& reports) = 0;
  virtual double weight(PromptId) const {
    return 1.0;
  }  ///< what its advantages would be
     ///< multiplied with now
};

/// A row of one family's table.
template <class Family>
struct PieceRow {
  const char* name;
  const char* meaning;  ///< one line: the rule as a formula
  std::unique_ptr<Family> (*make)(Knowledge& knowledge);
};

}  // namespace rollcall::scheduling
