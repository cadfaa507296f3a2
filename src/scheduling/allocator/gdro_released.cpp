// Plays the most probable counts at the budget, and credits the results to them.
#include "scheduling/allocator/gdro_released.hpp"

#include "base/text/json.hpp"
#include "scheduling/game/joint_arms.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace rollcall::scheduling {
namespace {

constexpr double kLeastChance = 1e-12;  // smaller chances count as this one, as in the released
                                        // code

}  // namespace

ReleasedGdroAllocator::ReleasedGdroAllocator(Knowledge& knowledge) : knowledge_(&knowledge) {
  knowledge.history.use_bins();
  knowledge.signals.use_signal();
  knowledge.signals.use_arm_signal(false);
}

void ReleasedGdroAllocator::bind(ConfigSchema& knobs) {
  game_.bind(knobs);
  table_.bind(knobs);
}

std::vector<double> ReleasedGdroAllocator::probabilities(std::size_t bin) const {
  std::vector<double> p = table_.row(bin);
  const double most = *std::max_element(p.begin(), p.end());
  double sum = 0.0;
  for (double& x : p) sum += x = std::exp(game_.eta() * (x - most));
  for (double& x : p) x = (1.0 - game_.gamma()) * x / sum + game_.gamma() / double(p.size());
  return p;
}

/// Gives every prompt least_arm rollouts, and the rest in proportion to q of the prompt's bin.
std::vector<std::int64_t> ReleasedGdroAllocator::by_share(const StepRequest& request,
                                                          const StepBins& bins) const {
  const auto prompts = std::int64_t(bins.of.size());
  const std::int64_t low = std::max(table_.least(), request.min_rollouts),
                     high = std::min(table_.most(), request.max_rollouts);
  // the released code gives up here
  if (low > high || low * prompts > request.budget || high * prompts < request.budget)
    return apportion(std::vector<double>(bins.of.size(), 1.0), request.budget, request.min_rollouts,
                     request.max_rollouts);
  const auto q = game_.probabilities(bins.prompts);
  std::vector<double> share(bins.of.size());
  for (std::size_t i = 0; i < share.size(); ++i) share[i] = q[bins.of[i]];
  auto count = apportion(share, request.budget - low * prompts, 0, high - low);
  for (std::int64_t& n : count) n += low;
  return count;
}

std::vector<std::int64_t> ReleasedGdroAllocator::counts(const StepRequest& request,
                                                        const std::vector<GroupPlan>& groups) {
  const StepBins bins = knowledge_->history.step_bins(groups);
  const std::int64_t low = std::max(table_.least(), request.min_rollouts),
                     high = std::min(table_.most(), request.max_rollouts);
  played_.assign(bins.prompts.size(), 0);
  table_.arms();  // throws for impossible arms
  if (low > high) return by_share(request, bins);
  std::vector<std::int64_t> count(std::size_t(high - low + 1));
  std::iota(count.begin(), count.end(), low);
  std::vector<std::size_t> order;  // bins in reverse order of their first prompt, so that ties give
                                   // the first bin its smallest counts, as in the released code
  for (const std::size_t b : bins.of) {
    if (std::find(order.begin(), order.end(), b) == order.end()) order.insert(order.begin(), b);
  }
  std::vector<BinArms> arms(order.size());
  for (std::size_t k = 0; k < arms.size(); ++k) {
    const auto p = probabilities(order[k]);
    arms[k].prompts = bins.prompts[order[k]];
    for (const std::int64_t n : count)
      arms[k].score.push_back(std::log(std::max(p[std::size_t(n - table_.least())], kLeastChance)));
  }
  const JointArms joint = most_probable_arms(arms, count, request.budget);
  if (joint.total != request.budget) return by_share(request, bins);
  for (std::size_t k = 0; k < order.size(); ++k) played_[order[k]] = count[joint.arm[k]];
  std::vector<std::int64_t> exact(groups.size());
  for (std::size_t i = 0; i < groups.size(); ++i) exact[i] = played_[bins.of[i]];
  return exact;
}

void ReleasedGdroAllocator::learn(const std::vector<GroupReport>& reports) {
  const std::vector<std::int64_t> played = std::move(played_);
  played_.clear();
  if (reports.empty()) return;
  const BinResults& results = knowledge_->latest();
  game_.learn(results);
  auto& score = table_.rows(results.groups.size());
  for (std::size_t b = 0; b < played.size(); ++b) {
    // The sign of the released code: a count gains if its rollouts had a higher loss. The price of
    // a rollout stays 0 there, because it follows the excess over the budget, which exact totals do
    // not have.
    if (played[b] > 0 && std::isfinite(results.gain[b]))
      score[b][std::size_t(played[b] - table_.least())] += -results.gain[b];
  }
}

nlohmann::json ReleasedGdroAllocator::save() const {
  return {{"game", game_.save()}, {"counts", table_.save()}};
}

void ReleasedGdroAllocator::load(const nlohmann::json& state) {
  table_.load(state.at("counts"), knowledge_->history.bins().size());
  game_.load(state.at("game"), knowledge_->history.bins().size());
  played_.clear();
}

}  // namespace rollcall::scheduling
