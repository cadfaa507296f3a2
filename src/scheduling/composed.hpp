// A policy put together from a sampler, an allocator, rounds and a selection over shared knowledge.
#pragma once

#include "scheduling/piece.hpp"
#include "scheduling/prompts/knowledge.hpp"

#include <nlohmann/json_fwd.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace rollcall::scheduling {

/// The four pieces at work.
struct Pieces {
  std::unique_ptr<Sampler> sampler;
  std::unique_ptr<Allocator> allocator;
  std::unique_ptr<Rounds> rounds;
  std::unique_ptr<Selection> selection;
};

class ComposedPolicy final : public Scheduler {
 public:
  /// `choice`: resolved. Sets the knobs; throws ConfigError on an unknown one or a value out of
  /// range.
  ComposedPolicy(SchedulerChoice choice, const Knobs& knobs, PromptTable prompts,
                 std::uint64_t seed);
  Decision begin_step(const StepRequest& request) override;
  Decision next_round(const StepRequest& request, const std::vector<GroupReport>& reports) override;
  void hear_again(std::vector<GroupReport> reports) override;
  Training settle(const StepRequest& request, const std::vector<GroupReport>& reports) override;
  void end_step(const std::vector<GroupReport>& reports) override;
  PolicyTraits traits() const override { return {.exact_total = pieces_.rounds->exact_total()}; }
  std::vector<Need> needs() const override;
  bool hears_rewards() const override;
  std::optional<Shortage> shortage(const StepRequest& request) const override;
  std::vector<std::string> warnings() const override { return knowledge_.warnings(); }
  std::int64_t hard_cap(const StepRequest& request) const override {
    return pieces_.rounds->hard_cap(request);
  }
  std::int64_t most_rounds() const override { return pieces_.rounds->most_rounds(); }
  std::string save() const override;
  LoadReport load(const std::string& state) override;
  PolicyParts save_parts(Rows which) override;
  LoadReport load_parts(const PolicyParts& parts,
                        const std::vector<std::uint64_t>& content) override;
  const std::vector<std::uint64_t>& content() const override {
    return knowledge_.prompts().content;
  }
  std::int32_t bin(PromptId prompt) const override {
    return knowledge_.has_bins() ? knowledge_.bins().of(prompt) : -1;
  }
  double weight(PromptId prompt) const override { return pieces_.selection->weight(prompt); }
  std::vector<std::pair<std::string, double>> metrics() const override { return metrics_; }
  const ConfigSchema& knobs() const { return schema_; }

 private:
  void set(const std::string& key, const std::string& value);
  std::vector<std::pair<const char*, Piece*>> named_pieces() const;
  void check_origin(const nlohmann::json& state) const;  ///< format, policy, pieces
  nlohmann::json head(nlohmann::json knowledge) const;   ///< everything but prompts' contents
  /// Knowledge and pieces; `then`: the contents when it was saved.
  LoadReport load_state(const nlohmann::json& state, const std::vector<std::uint64_t>& then,
                        const PromptRows& rows);
  /// levels of new groups, hard cap, metrics
  void complete(Decision& decision, const StepRequest& request);
  SchedulerChoice choice_;
  Knowledge knowledge_;
  Pieces pieces_;
  ConfigSchema schema_;
  std::vector<std::int32_t> levels_;  // distinct, ascending
  std::vector<GroupReport> pool_;     // of the step at hand, ascending GroupId; empty between steps
  std::vector<GroupPlan> drawn_;  // of the step at hand: one entry a group, counts of all rounds
  std::uint32_t round_ = 0;
  bool begun_ = false;
  std::vector<std::pair<std::string, double>> metrics_;  // state: of the latest step
};

/// Without groups of which no rollout came to a verdict: they were drawn, but say nothing.
std::vector<GroupReport> with_verdicts(const std::vector<GroupReport>& reports);

/// Reports of one group from several fragments become one, samples in order of arrival; ascending
/// GroupId.
void merge_reports(std::vector<GroupReport>& all, std::vector<GroupReport> more);

}  // namespace rollcall::scheduling
