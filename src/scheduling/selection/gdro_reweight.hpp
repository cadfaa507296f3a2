// The selection `gdro_reweight`: Prompt-GDRO as the paper realises it, by scaling advantages.
#pragma once

#include "scheduling/game/prompt_game.hpp"
#include "scheduling/piece.hpp"

#include <string>
#include <utility>
#include <vector>

namespace rollcall::scheduling {

/// A_ij <- A_ij min(w_t(b_i), w_max) (arXiv:2601.19280, eq. 16). w_t holds this step's results, which are known when the step is settled; a surrogate loss is
/// not, so with that signal the weights are those of the steps before.
class GdroReweight final : public Selection {
 public:
  explicit GdroReweight(Knowledge& knowledge);
  void bind(ConfigSchema& knobs) override { game_.bind(knobs); }
  std::vector<GroupTraining> select(const StepRequest& request, const std::vector<GroupReport>& reports) override;
  void learn(const std::vector<GroupReport>& reports) override;
  double weight(PromptId prompt) const override { return game_.capped_weight(std::size_t(knowledge_->bins().of(prompt))); }
  nlohmann::json save() const override;
  void load(const nlohmann::json& state) override;
  bool load_changed(const nlohmann::json& state, const PromptMap&) override { return load(state), true; }  // it names bins, not prompts
  std::vector<std::pair<std::string, double>> metrics() const override;                                    ///< gdro/weight/<bin>, gdro/probability/<bin>

 private:
  Knowledge* knowledge_;
  PromptGame game_;  // state
};

}  // namespace rollcall::scheduling
