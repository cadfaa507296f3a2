// A scheduler composed of a sampler, an allocator, rounds and a selection. They share what is known
// about the prompts.
#pragma once

#include "scheduling/piece.hpp"
#include "scheduling/prompts/knowledge.hpp"

#include <nlohmann/json_fwd.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace rollcall::scheduling {

struct Pieces {
  std::unique_ptr<Sampler> sampler;
  std::unique_ptr<Allocator> allocator;
  std::unique_ptr<Rounds> rounds;
  std::unique_ptr<Selection> selection;
};

class ComposedPolicy final : public Scheduler {
 public:
  /// `choice` names the row and every piece, as resolve() returns it. Sets the knobs; throws
  /// ConfigError on an unknown knob or a value out of range.
  ComposedPolicy(SchedulerChoice choice, const Knobs& knobs, PromptTable prompts,
                 std::uint64_t seed);
  Decision begin_step(const StepRequest& request) override;
  Decision next_round(const StepRequest& request, const std::vector<GroupReport>& reports) override;
  void hear_again(std::vector<GroupReport> reports) override;
  Training settle(const StepRequest& request, const std::vector<GroupReport>& reports) override;
  void end_step(const std::vector<GroupReport>& reports) override;
  const PolicyTraits& traits() const override { return traits_; }
  std::optional<Shortage> shortage(const StepRequest& request) const override;
  std::int64_t hard_cap(const StepRequest& request) const override {
    return pieces_.rounds->hard_cap(request);
  }
  std::string save() const override;
  LoadReport load(const std::string& state) override;
  PolicyParts save_parts(Rows which) override;
  LoadReport load_parts(const PolicyParts& parts,
                        const std::vector<std::uint64_t>& content) override;
  const std::vector<std::uint64_t>& content() const override { return knowledge_.prompts.content; }
  std::int32_t bin(PromptId prompt) const override {
    return knowledge_.history.has_bins() ? knowledge_.history.bins().of(prompt) : -1;
  }
  double weight(PromptId prompt) const override { return pieces_.selection->weight(prompt); }
  std::vector<std::pair<std::string, double>> metrics() const override { return metrics_; }
  const ConfigSchema& knobs() const { return schema_; }

 private:
  /// Loads the state of knowledge and pieces. `then`: the prompts' contents when the state was
  /// saved.
  LoadReport load_state(const nlohmann::json& state, const std::vector<std::uint64_t>& then,
                        const PromptRows& rows);
  /// Adds levels to the new groups, counts them as drawn, checks the hard cap and sets the metrics.
  void complete(Decision& decision, const StepRequest& request);
  SchedulerChoice choice_;
  Knowledge knowledge_;
  Pieces pieces_;
  ConfigSchema schema_;
  PolicyTraits traits_;
  std::vector<std::int32_t> levels_;  // levels that prompts have, each once, ascending
  std::vector<GroupReport> pool_;     // of the open step, ascending GroupId; empty between steps
  std::vector<GroupPlan> drawn_;      // of the open step: one entry per group, counts of all rounds
  std::uint32_t round_ = 0;           // number of the open step's round, from 0
  bool begun_ = false;                // a first step has begun
  std::vector<std::pair<std::string, double>> metrics_;  // saved state: those of the latest step
};

/// The reports, except those of groups in which no rollout got a verdict. Such groups were drawn,
/// but nothing can be learned from them.
std::vector<GroupReport> with_verdicts(const std::vector<GroupReport>& reports);

/// The reports of the groups that were asked the task's own prompts (GroupReport::from). Success
/// with help says nothing about the prompt, so only rounds see the other groups.
std::vector<GroupReport> plain_reports(const std::vector<GroupReport>& reports);

/// Adds more reports to `all`. Fragments of one group become one report, with samples in order of
/// arrival; the result ascends by GroupId.
void merge_reports(std::vector<GroupReport>& all, std::vector<GroupReport> more);

}  // namespace rollcall::scheduling
