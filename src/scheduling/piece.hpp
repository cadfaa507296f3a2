// The interface that the four families of scheduling pieces share: knobs, learning, and a state
// that can be saved.
#pragma once

#include "base/text/config.hpp"
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

/// A piece is pure: its answers depend only on its state, the shared knowledge and the addressed
/// random streams. A piece without knobs, state or metrics does not override those functions.
class Piece {
 public:
  virtual ~Piece() = default;
  /// Binds its knobs: key, variable, meaning, range. Defaults are those of the paper.
  virtual void bind(ConfigSchema&) {}
  /// Learns at the end of a step. Reports ascend by GroupId, and the shared knowledge has already
  /// learned from them.
  virtual void learn(const std::vector<GroupReport>&) {}
  virtual nlohmann::json save() const;  ///< {} by default
  /// Throws StorageError or a json exception when `state` did not come from save().
  virtual void load(const nlohmann::json& state);
  /// Loads a state that was saved with other prompts. Returns false if the piece starts without a
  /// state instead. That is the default for a piece that stores prompt ids.
  virtual bool load_changed(const nlohmann::json& state, const PromptMap& map);
  virtual std::vector<std::pair<std::string, double>> metrics() const { return {}; }
  /// The fields that the piece cannot do without, with the current knobs.
  virtual std::vector<Need> needs() const { return {}; }
  virtual bool hears_rewards() const { return false; }  ///< it reads GroupReport::rewards
  /// See Scheduler::shortage.
  virtual std::optional<Shortage> shortage(const StepRequest&) const { return std::nullopt; }
};

/// A prompt that was chosen for a step.
struct PromptDraw {
  PromptId prompt;
  std::uint32_t draw = 0;     ///< how often the step has already chosen the prompt
  double probability = -1.0;  ///< chance of this choice; -1: not stated
};

/// For allocators that give prompts different counts, within [least, most] and the step's bounds.
/// Returns a shortage if the mean count equals one of these bounds, because all prompts then get
/// equal counts.
std::optional<Shortage> no_room_to_differ(const StepRequest& request, std::int64_t least,
                                          std::int64_t most);
/// For rounds that give up to `more` rollouts (at least 1) to prompts that already have the mean: a
/// shortage if the step's bounds leave no room for them.
std::optional<Shortage> no_room_for_more(const StepRequest& request, std::int64_t more);

/// Chooses the prompts of a step.
class Sampler : public Piece {
 public:
  /// Whether it has no choice in a step that asks for all prompts there are. A sampler that draws
  /// all prompts with equal chances, or draws copies of some, overrides this.
  virtual bool needs_more_prompts() const { return true; }
  /// [request.prompts] draws. A refill calls this again within a step, with the number of prompts
  /// that it still needs. `held`: prompts that the step already has, ascending; they are not drawn
  /// again while other prompts are left.
  virtual std::vector<PromptDraw> choose(const StepRequest& request,
                                         const std::vector<PromptId>& held) = 0;
};

/// Decides how many rollouts each chosen prompt gets.
class Allocator : public Piece {
 public:
  /// By default counts are meant to differ. An allocator that gives equal counts overrides this.
  std::optional<Shortage> shortage(const StepRequest& request) const override {
    return no_room_to_differ(request, request.min_rollouts, request.max_rollouts);
  }
  /// [groups] counts that sum to request.budget, each within the request's bounds. Implementations
  /// finish with apportion(), which makes the total exact.
  virtual std::vector<std::int64_t> counts(const StepRequest& request,
                                           const std::vector<GroupPlan>& groups) = 0;
};

/// Draws a step's rollouts at once, or in rounds that look at the results so far.
class Rounds : public Piece {
 public:
  /// The request for sampler and allocator in the first round. It has a smaller budget when later
  /// rounds are to spend the rest.
  virtual StepRequest first(const StepRequest& request) const { return request; }
  /// True if another round follows the first one, whatever its results.
  virtual bool looks() const { return false; }
  /// The next round. `pool`: all results of the step so far (ascending GroupId, fragments merged).
  /// Continued groups name their next sample number; new groups come from `sampler`. A decision
  /// without groups ends the step and has last_round set.
  virtual Decision next(const StepRequest& request, std::uint32_t round,
                        const std::vector<GroupReport>& pool, Sampler& sampler);
  virtual bool exact_total() const { return true; }
  virtual std::int64_t hard_cap(const StepRequest& request) const { return request.budget; }
  virtual std::int64_t most_rounds() const { return 1; }  ///< PolicyTraits::most_rounds
  virtual std::int64_t tiers() const { return 0; }        ///< PolicyTraits::tiers
};

/// Decides which of the drawn rollouts train, and with what weight.
class Selection : public Piece {
 public:
  /// An entry for every group whose weight is not 1 or whose rollouts do not all train, ascending
  /// by GroupId.
  virtual std::vector<GroupTraining> select(const StepRequest& request,
                                            const std::vector<GroupReport>& reports) = 0;
  /// Its entries may have weights other than 1.
  virtual bool weighs() const { return false; }
  /// The factor that would multiply the advantages of the prompt's groups now.
  virtual double weight(PromptId) const { return 1.0; }
};

/// A row of one family's table.
template <class Family>
struct PieceRow {
  const char* name;
  const char* meaning;  ///< one line: the rule as a formula
  std::unique_ptr<Family> (*make)(Knowledge& knowledge);
};

}  // namespace rollcall::scheduling
