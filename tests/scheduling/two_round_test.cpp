// The interface carries schedulers of several rounds: a pilot round to look, a second one where
// outcomes differed.
#include "base/text/json.hpp"
#include "scheduling/scheduler.hpp"
#include "scheduling/simulated_run.hpp"

#include <gtest/gtest.h>

namespace rollcall::scheduling {
namespace {

/// Spends `min_rollouts` on every prompt, then the rest in proportion to the pilot's outcome
/// variance. Its only state is a step count.
class PilotPolicy final : public Scheduler {
 public:
  Decision begin_step(const StepRequest& r) override {
    Decision d{.groups = {}, .last_round = false};
    for (std::int64_t i = 0; i < r.prompts; ++i) {
      d.groups.push_back({.id = {r.step, {std::uint64_t(i)}, 0},
                          .level = 2 + std::int32_t(i) % 4,
                          .count = std::uint32_t(r.min_rollouts)});
    }
    return d;
  }
  Decision next_round(const StepRequest& r, const std::vector<GroupReport>& pilot) override {
    std::vector<double> variance;
    for (const auto& g : pilot) {
      const double p =
          double(std::count(g.correct.begin(), g.correct.end(), 1)) / double(g.correct.size());
      variance.push_back(p * (1 - p));
    }
    const auto more = apportion(variance, r.budget - r.prompts * r.min_rollouts, 0,
                                r.max_rollouts - r.min_rollouts);
    Decision d;
    for (std::size_t i = 0; i < pilot.size(); ++i) {
      if (more[i] > 0)
        d.groups.push_back({pilot[i].id, pilot[i].level, std::uint32_t(pilot[i].correct.size()),
                            std::uint32_t(more[i])});
    }
    return d;
  }
  void hear_again(std::vector<GroupReport>) override {}  // what it was told stands
  void end_step(const std::vector<GroupReport>& reports) override {
    ++steps_;
    groups_ = reports.size();
  }
  Training settle(const StepRequest&, const std::vector<GroupReport>& reports) override {
    Training all{};
    for (const auto& report : reports) all.drawn += drawn(report), all.trained += drawn(report);
    return all;
  }
  const PolicyTraits& traits() const override { return traits_; }
  std::int64_t hard_cap(const StepRequest& r) const override { return r.budget; }
  std::int32_t bin(PromptId) const override { return -1; }
  double weight(PromptId) const override { return 1.0; }
  std::string save() const override {
    return nlohmann::json{{"format", 1}, {"steps", steps_}}.dump();
  }
  LoadReport load(const std::string& s) override {
    steps_ = nlohmann::json::parse(s).at("steps");
    return {};
  }
  PolicyParts save_parts(Rows) override { return {save(), {}}; }
  LoadReport load_parts(const PolicyParts& parts, const std::vector<std::uint64_t>&) override {
    return load(parts.head);
  }
  const std::vector<std::uint64_t>& content() const override { return content_; }
  std::vector<std::pair<std::string, double>> metrics() const override { return {}; }
  std::size_t groups() const { return groups_; }

 private:
  std::int64_t steps_ = 0;
  std::size_t groups_ = 0;
  PolicyTraits traits_{};
  std::vector<std::uint64_t> content_{};
};

TEST(TwoRounds, FragmentsContinueTheirGroupsAndTheTotalIsExact) {
  PilotPolicy policy;
  for (std::uint64_t step = 0; step < 20; ++step) {
    const StepRequest request{
        .step = step, .prompts = 16, .budget = 128, .min_rollouts = 4, .max_rollouts = 24};
    const auto rounds = simulate_step(policy, request);
    ASSERT_EQ(rounds.size(), 2U);
    EXPECT_FALSE(rounds[0].last_round);
    EXPECT_TRUE(rounds[1].last_round);
    std::map<GroupId, std::uint32_t> samples;
    for (const auto& round : rounds) {
      for (const auto& g : round.groups) {
        EXPECT_EQ(g.first_sample, samples[g.id]);  // numbering goes on where the last fragment
                                                   // ended
        samples[g.id] += g.count;
      }
    }
    std::int64_t total = 0;
    for (const auto& [id, count] : samples) {
      EXPECT_LE(count, 24U);
      total += count;
    }
    EXPECT_EQ(total, 128);
    EXPECT_EQ(policy.groups(), 16U);  // the step's end sees whole groups, not fragments
  }
}

}  // namespace
}  // namespace rollcall::scheduling
