// The selection `gdro_reweight`: Prompt-GDRO as the paper implements it, by scaling advantages.
#pragma once

#include "scheduling/game/prompt_game.hpp"
#include "scheduling/piece.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace rollcall::scheduling {

/// A_ij <- A_ij min(w_t(b_i), w_max) (arXiv:2601.19280, eq. 16). w_t includes this step's results,
/// which are known when the step is settled. A surrogate loss is not known then, so with that
/// signal the weights are those after the step before. `weigh_by`:
///   omega                    min(w_t, w_max). A bin counts by its share of the rollouts times w_t,
///                            and the mean weight moves with the scores.
///   probability              q_t over the bins of the step, scaled so that the step's mean is 1,
///                            and at most w_max (the released code)
///   probability_over_share   q_t over the bins of the step, divided by the bin's share of the
///                            step's rollouts, and at most w_max. Below that bound a bin counts by
///                            q_t alone, as under resampling.
class GdroReweight final : public Selection {
 public:
  explicit GdroReweight(Knowledge& knowledge);
  void bind(ConfigSchema& knobs) override;
  bool hears_rewards() const override { return true; }
  bool weighs() const override { return true; }
  std::vector<GroupTraining> select(const StepRequest& request,
                                    const std::vector<GroupReport>& reports) override;
  void learn(const std::vector<GroupReport>& reports) override;
  double weight(PromptId prompt) const override;  ///< in a step that drew all prompts equally
  nlohmann::json save() const override;
  void load(const nlohmann::json& state) override;
  // the state names bins and no prompts, so it also fits other prompts
  bool load_changed(const nlohmann::json& state, const PromptMap&) override {
    return load(state), true;
  }
  /// Metrics named gdro/weight/<bin> and gdro/probability/<bin>.
  std::vector<std::pair<std::string, double>> metrics() const override;

 private:
  std::vector<double> weights(const PromptGame& game,
                              const std::vector<std::int64_t>& rollouts) const;
  std::vector<std::int64_t> population() const;

  Knowledge* knowledge_;
  std::string weigh_by_ = "omega";
  PromptGame game_;  // saved state
};

}  // namespace rollcall::scheduling
