// A policy made of one sampler and one allocator that closes every step after its first round.
#pragma once

#include "scheduling/allocator/allocator.hpp"
#include "scheduling/policy.hpp"
#include "scheduling/sampler/sampler.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace rollcall::scheduling {

class SingleRoundPolicy final : public Policy {
 public:
  SingleRoundPolicy(std::string row, const PromptTable& prompts, std::unique_ptr<Sampler> sampler, std::unique_ptr<Allocator> allocator);
  Decision begin_step(const StepRequest& request) override;
  Decision next_round(const StepRequest& request, const std::vector<GroupReport>& reports) override;
  void end_step(const std::vector<GroupReport>& reports) override;
  PolicyTraits traits() const override { return {.exact_total = true}; }
  std::string save() const override;
  void load(const std::string& state) override;
  std::vector<std::pair<std::string, double>> metrics() const override { return metrics_; }

 private:
  std::string row_;
  PromptTable prompts_;
  std::vector<std::int32_t> levels_;  // distinct, ascending
  std::unique_ptr<Sampler> sampler_;
  std::unique_ptr<Allocator> allocator_;
  std::vector<std::pair<std::string, double>> metrics_;  // state: of the latest step
};

}  // namespace rollcall::scheduling
