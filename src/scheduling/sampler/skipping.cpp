// The walk through the uniform order, and the two reasons to skip a prompt.
#include "scheduling/sampler/skipping.hpp"

#include "base/text/json.hpp"
#include "scheduling/prompts/outcomes.hpp"
#include "scheduling/sampler/ranked.hpp"

#include <algorithm>
#include <cmath>

namespace rollcall::scheduling {
namespace {

// As in GRESO's published code: the least chance of a prompt, the change of p_easy and p_hard, and
// the bounds of both.
constexpr double kLeast = 0.01, kChange = 0.01, kLow = 0.05, kHigh = 0.95;

}  // namespace

std::vector<PromptDraw> SkippingSampler::choose(const StepRequest& request,
                                                const std::vector<PromptId>& held) {
  const auto wanted = std::size_t(request.prompts);
  std::vector<PromptDraw> draws, skipped;
  std::vector<PromptId> offered = held;
  while (draws.size() < wanted && offered.size() < knowledge_->size()) {
    StepRequest ask = request;
    ask.prompts = std::int64_t(
        std::min<std::size_t>(wanted - draws.size(), knowledge_->size() - offered.size()));
    const auto more = order_.choose(ask, offered);
    for (const PromptDraw& draw : more)
      (skips(request.step, draw.prompt) ? skipped : draws).push_back(draw);
    offered = with(offered, more);
  }
  for (std::size_t i = 0; i < skipped.size() && draws.size() < wanted; ++i)
    draws.push_back(skipped[i]);
  repeat(*knowledge_, request.step, wanted, draws);
  return draws;
}

nlohmann::json SkippingSampler::save() const { return {{"order", order_.save()}}; }
void SkippingSampler::load(const nlohmann::json& state) { order_.load(state.at("order")); }

void SkipUninformativeSampler::bind(ConfigSchema& s) {
  s.bind(
      "p_easy", &p_easy_,
      "base of the chance to look again at a prompt whose rewards were equal and mostly right, at the start",
      {kLow, kHigh});
  s.bind(
      "p_hard", &p_hard_,
      "base of the chance to look again at a prompt whose rewards were equal and mostly wrong, at the start",
      {kLow, kHigh});
  s.bind("zero_variance_target", &target_, "share of groups without differing rewards to aim at",
         {0, 1});
}

double SkipUninformativeSampler::skip_chance(PromptId prompt) const {
  const auto known = in_a_row_.find(prompt.value);
  if (known == in_a_row_.end() || known->second == 0) return 0.0;
  return 1.0 -
         std::max(std::pow(known->second > 0 ? p_easy_ : p_hard_, double(std::abs(known->second))),
                  kLeast);
}

bool SkipUninformativeSampler::skips(std::uint64_t step, PromptId prompt) const {
  return knowledge().random(step, std::uint64_t(SamplerUse::skip)).uniform(prompt.value) <
         skip_chance(prompt);
}

void SkipUninformativeSampler::learn(const std::vector<GroupReport>& reports) {
  double easy = 0, hard = 0;
  for (const GroupReport& report : reports) {
    const bool dead = !informative(report), all = dead && success(report) >= 0.5,
               none = dead && !all;
    std::int32_t& z = in_a_row_[report.id.prompt.value];
    z = all ? std::max(z, 0) + 1 : none ? std::min(z, 0) - 1 : 0;
    easy += all, hard += none;
  }
  if (epoch() == 0 || reports.empty()) return;
  const auto follow = [&](double& p, double share, double target) {
    p = std::clamp(share >= target ? p - kChange : p + kChange, kLow, kHigh);
  };
  follow(p_easy_, easy / double(reports.size()), target_ / 3);
  follow(p_hard_, hard / double(reports.size()), target_ * 2 / 3);
}

nlohmann::json SkipUninformativeSampler::save() const {
  auto state = SkippingSampler::save();
  auto rows = nlohmann::json::array();
  for (const auto& [prompt, z] : in_a_row_) rows.push_back({prompt, z});
  state["in_a_row"] = std::move(rows);
  state["p"] = {p_easy_, p_hard_};
  return state;
}

void SkipUninformativeSampler::load(const nlohmann::json& state) {
  SkippingSampler::load(state);
  in_a_row_.clear();
  for (const auto& row : state.at("in_a_row"))
    in_a_row_[row.at(0).get<std::uint64_t>()] = row.at(1).get<std::int32_t>();
  p_easy_ = state.at("p").at(0).get<double>();
  p_hard_ = state.at("p").at(1).get<double>();
}

std::vector<std::pair<std::string, double>> SkipUninformativeSampler::metrics() const {
  return {{"greso/p_easy", p_easy_}, {"greso/p_hard", p_hard_}};
}

void SkipSolvedSampler::bind(ConfigSchema& s) {
  s.bind("solved_at", &solved_at_, "pass rate over the run from which a prompt is not drawn again",
         {0, 1});
}

bool SkipSolvedSampler::skips(std::uint64_t, PromptId prompt) const {
  const auto known = seen_.find(prompt.value);
  return known != seen_.end() &&
         double(known->second.first) >= solved_at_ * double(known->second.second);
}

void SkipSolvedSampler::learn(const std::vector<GroupReport>& reports) {
  for (const GroupReport& report : reports) {
    auto& [passed, all] = seen_[report.id.prompt.value];
    passed += std::int64_t(right(report)), all += std::int64_t(report.correct.size());
  }
}

nlohmann::json SkipSolvedSampler::save() const {
  auto state = SkippingSampler::save();
  auto rows = nlohmann::json::array();
  for (const auto& [prompt, seen] : seen_) rows.push_back({prompt, seen.first, seen.second});
  state["seen"] = std::move(rows);
  return state;
}

void SkipSolvedSampler::load(const nlohmann::json& state) {
  SkippingSampler::load(state);
  seen_.clear();
  for (const auto& row : state.at("seen"))
    seen_[row.at(0).get<std::uint64_t>()] = {row.at(1).get<std::int64_t>(),
                                             row.at(2).get<std::int64_t>()};
}

}  // namespace rollcall::scheduling
