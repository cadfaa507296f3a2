// The sampler `gdro_resample`: Prompt-GDRO by drawing prompts. The paper scales advantages instead.
#pragma once

#include "scheduling/game/prompt_game.hpp"
#include "scheduling/piece.hpp"

#include <string>
#include <utility>
#include <vector>

namespace rollcall::scheduling {

/// Each draw picks a bin with the chance q_t (arXiv:2601.19280, eq. 15), renormalised over the bins
/// that still hold prompts, then one of its prompts uniformly, without replacement. With `draw_by`
/// probability_times_population, the chance of a bin is q_t times the number of its prompts, so a
/// bin counts in proportion to its share times its weight, as under reweighting. The stated
/// probability is conditional on the draws before it: q_t(b) / (sum of q_t over such bins) /
/// (prompts left in b).
class GdroResample final : public Sampler {
 public:
  explicit GdroResample(Knowledge& knowledge);
  void bind(ConfigSchema& knobs) override;
  bool hears_rewards() const override { return true; }
  std::vector<PromptDraw> choose(const StepRequest& request,
                                 const std::vector<PromptId>& held) override;
  void learn(const std::vector<GroupReport>& reports) override;
  nlohmann::json save() const override;
  void load(const nlohmann::json& state) override;
  // the state names bins and no prompts, so it also fits other prompts
  bool load_changed(const nlohmann::json& state, const PromptMap&) override {
    return load(state), true;
  }
  /// Metrics named gdro/probability/<bin>.
  std::vector<std::pair<std::string, double>> metrics() const override;

 private:
  std::vector<double> bin_weights() const;

  Knowledge* knowledge_;
  std::string draw_by_ = "probability";
  PromptGame game_;  // saved state
};

}  // namespace rollcall::scheduling
