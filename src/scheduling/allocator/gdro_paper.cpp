// Chooses arms of the bandits that meet the budget together, and credits results to the arms that
// were actually played.
#include "scheduling/allocator/gdro_paper.hpp"

#include "base/text/json.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace rollcall::scheduling {
namespace {

constexpr std::uint64_t kArmDraws = 302;  // this piece's random numbers of a step

}  // namespace

PaperGdroAllocator::PaperGdroAllocator(Knowledge& knowledge) : knowledge_(&knowledge) {
  knowledge.history.use_bins();
  knowledge.signals.use_arm_signal(false);
}

void PaperGdroAllocator::bind(ConfigSchema& s) {
  table_.bind(s);
  s.bind("arm_horizon", &horizon_, "steps that the bandits are tuned for", {2, 1e9});
  s.bind("arm_delta", &delta_, "chance that the bandits' regret bound fails", {1e-9, 1});
  s.bind("arm_draw", &draw_,
         "1: arms are drawn by their probabilities; 0: the most probable ones are played", {0, 1});
  s.bind("price_rate", &price_rate_,
         "how fast the price of a rollout follows what arms spend over the budget", {0, 10});
  s.bind("score_cap", &score_cap_, "a surrogate loss counts between minus and plus this", {0, 1e3});
}

Exp3p PaperGdroAllocator::bandit(std::size_t bin) const {
  Exp3p bandit(table_.arms(), double(horizon_), delta_);
  bandit.restore(table_.row(bin));
  return bandit;
}

std::vector<double> PaperGdroAllocator::probabilities(std::size_t bin) const {
  return bandit(bin).probabilities();
}

/// log p_a + draw * Gumbel noise: their maximum over the arms is a draw from p when draw = 1
/// (Gumbel 1954), and its budgeted maximum perturbs and optimises (Papandreou and Yuille 2011).
/// Without noise the most probable arm is always played, so no other arm is ever tried.
std::vector<double> PaperGdroAllocator::drawn_scores(std::uint64_t step, std::size_t bin) const {
  std::vector<double> score = probabilities(bin);
  const RandomStream random = knowledge_->random(step, kArmDraws);
  for (std::size_t a = 0; a < score.size(); ++a) {
    const double u = (double(random.bits(bin << 32 | a) >> 11) + 0.5) * 0x1.0p-53;  // in (0, 1)
    score[a] = std::log(score[a]) - draw_ * std::log(-std::log(u));
  }
  return score;
}

std::vector<std::int64_t> PaperGdroAllocator::counts(const StepRequest& request,
                                                     const std::vector<GroupPlan>& groups) {
  const StepBins bins = knowledge_->history.step_bins(groups);
  const std::int64_t low = std::max(table_.least(), request.min_rollouts),
                     high = std::min(table_.most(), request.max_rollouts);
  std::vector<double> share(groups.size(), 1.0);  // equal shares if no arm is within the bounds
  excess_ = 0.0;
  if (low <= high) {
    std::vector<std::int64_t> count(std::size_t(high - low + 1));
    std::iota(count.begin(), count.end(), low);
    std::vector<BinArms> present(bins.prompts.size());
    for (std::size_t b = 0; b < present.size(); ++b) {
      const auto score = drawn_scores(request.step, b);
      present[b] = {
          bins.prompts[b],
          {score.begin() + (low - table_.least()), score.begin() + (high - table_.least() + 1)}};
    }
    const JointArms joint = most_probable_arms(present, count, request.budget);
    excess_ = double(joint.total - request.budget) / double(groups.size());
    std::vector<std::int64_t> exact(groups.size());
    for (std::size_t i = 0; i < groups.size(); ++i) exact[i] = count[joint.arm[bins.of[i]]];
    if (joint.total == request.budget) return exact;
    share.assign(exact.begin(), exact.end());
  }
  return apportion(share, request.budget, request.min_rollouts, request.max_rollouts);
}

/// Maps the penalised loss of eq. 20 to EXP3.P's reward in [0, 1] by the range of the loss at this
/// price. A lower loss is a higher reward.
double PaperGdroAllocator::reward(double gain, std::int64_t count) const {
  const ArmSignal& kind = knowledge_->signals.arm_signal();
  const double loss =
      -std::clamp(gain, kind.least(score_cap_), kind.most(score_cap_)) + price_ * double(count);
  const auto [cheap, dear] =
      std::minmax({price_ * double(table_.least()), price_ * double(table_.most())});
  const double least = -kind.most(score_cap_) + cheap, most = -kind.least(score_cap_) + dear;
  return most > least ? (most - loss) / (most - least) : 0.0;
}

void PaperGdroAllocator::learn(const std::vector<GroupReport>& reports) {
  clipped_ = 0;
  if (reports.empty()) return;
  const ArmSignal& kind = knowledge_->signals.arm_signal();
  const BinResults& results = knowledge_->latest();
  const std::size_t bins = results.groups.size();
  auto& weights = table_.rows(bins);
  for (std::size_t b = 0; b < bins; ++b) {
    if (results.groups[b] == 0 || !std::isfinite(results.gain[b])) continue;
    // The count may differ from the arm after repairs and later rounds.
    const std::int64_t played = std::llround(double(results.drawn[b]) / double(results.groups[b]));
    if (played < table_.least() || played > table_.most()) continue;
    if (results.gain[b] < kind.least(score_cap_) || results.gain[b] > kind.most(score_cap_))
      ++clipped_;
    Exp3p arm_player = bandit(b);
    arm_player.learn(std::size_t(played - table_.least()), reward(results.gain[b], played));
    weights[b] = arm_player.log_weights();
  }
  price_ = shadow_price(price_, price_rate_, excess_, 0.0);
  excess_ = 0.0;
}

std::vector<std::pair<std::string, double>> PaperGdroAllocator::metrics() const {
  auto all = table_.metrics();
  all.insert(all.begin(), {"gdro/price", price_});
  if (clipped_ > 0) all.emplace_back("gdro/clipped_gains", double(clipped_));
  return all;
}

nlohmann::json PaperGdroAllocator::save() const {
  return {{"price", price_}, {"log_weights", table_.save()}};
}

void PaperGdroAllocator::load(const nlohmann::json& state) {
  table_.load(state.at("log_weights"), knowledge_->history.bins().size());
  price_ = state.at("price").get<double>();
}

}  // namespace rollcall::scheduling
