// Arms of the bandits, made to meet the budget together; results back to the arms that were really played.
#include "scheduling/allocator/gdro_paper.hpp"

#include "base/error.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace rollcall::scheduling {
namespace {

constexpr std::uint64_t kArmDraws = 302;  // this piece's random numbers of a step

}  // namespace

PaperGdroAllocator::PaperGdroAllocator(Knowledge& knowledge) : knowledge_(&knowledge) {
  knowledge.use_bins();
  knowledge.use_arm_signal(false);
}

void PaperGdroAllocator::bind(ConfigSchema& s) {
  s.bind("least_arm", &least_arm_, "fewest rollouts a bandit plays", {1, 1e6});
  s.bind("most_arm", &most_arm_, "most rollouts a bandit plays", {1, 1e6});
  s.bind("arm_horizon", &horizon_, "steps that the bandits are tuned for", {2, 1e9});
  s.bind("arm_delta", &delta_, "chance that the bandits' regret bound fails", {1e-9, 1});
  s.bind("arm_draw", &draw_, "1: arms are drawn by their probabilities; 0: the most probable ones are played", {0, 1});
  s.bind("price_rate", &price_rate_, "how fast the price of a rollout follows what arms spend over the budget", {0, 10});
  s.bind("score_cap", &score_cap_, "a surrogate loss counts between minus and plus this", {0, 1e3});
}

std::size_t PaperGdroAllocator::arms() const {
  require<ConfigError>(most_arm_ > least_arm_ && most_arm_ - least_arm_ < 256, fmt::format("bandits that play from {} to {} rollouts", least_arm_, most_arm_),
                       "a bandit chooses among 2 to 256 counts", "set scheduler.knobs.least_arm below scheduler.knobs.most_arm");
  return std::size_t(most_arm_ - least_arm_ + 1);
}

Exp3p PaperGdroAllocator::bandit(std::size_t bin) const {
  Exp3p bandit(arms(), double(horizon_), delta_);
  if (bin < log_weights_.size()) bandit.restore(log_weights_[bin]);
  return bandit;
}

std::vector<double> PaperGdroAllocator::probabilities(std::size_t bin) const { return bandit(bin).probabilities(); }

/// log p_a + draw * Gumbel noise: their maximum over the arms is a draw from p when draw = 1 (Gumbel 1954), and its budgeted maximum perturbs and optimises
/// (Papandreou and Yuille 2011). Always the most probable arm would never try another: the arm played first gains most.
std::vector<double> PaperGdroAllocator::drawn_scores(std::uint64_t step, std::size_t bin) const {
  std::vector<double> score = probabilities(bin);
  const RandomStream random = knowledge_->random(step, kArmDraws);
  for (std::size_t a = 0; a < score.size(); ++a) {
    const double u = (double(random.bits(bin << 32 | a) >> 11) + 0.5) * 0x1.0p-53;  // in (0, 1)
    score[a] = std::log(score[a]) - draw_ * std::log(-std::log(u));
  }
  return score;
}

std::vector<std::int64_t> PaperGdroAllocator::counts(const StepRequest& request, const std::vector<GroupPlan>& groups) {
  const std::size_t bins = knowledge_->bins().size();
  std::vector<BinArms> present(bins);
  std::vector<std::size_t> bin_of(groups.size());
  for (std::size_t i = 0; i < groups.size(); ++i) ++present[bin_of[i] = std::size_t(knowledge_->bins().of(groups[i].id.prompt))].prompts;

  const std::int64_t low = std::max(least_arm_, request.min_rollouts), high = std::min(most_arm_, request.max_rollouts);
  std::vector<double> share(groups.size(), 1.0);  // no arm within the bounds: equal
  excess_ = 0.0;
  if (low <= high) {
    std::vector<std::int64_t> count(std::size_t(high - low + 1));
    std::iota(count.begin(), count.end(), low);
    for (std::size_t b = 0; b < bins; ++b) {
      const auto score = drawn_scores(request.step, b);
      present[b].score.assign(score.begin() + (low - least_arm_), score.begin() + (high - least_arm_ + 1));
    }
    const JointArms joint = most_probable_arms(present, count, request.budget);
    excess_ = double(joint.total - request.budget) / double(groups.size());
    std::vector<std::int64_t> exact(groups.size());
    for (std::size_t i = 0; i < groups.size(); ++i) exact[i] = count[joint.arm[bin_of[i]]];
    if (joint.total == request.budget) return exact;
    share.assign(exact.begin(), exact.end());
  }
  return apportion(share, request.budget, request.min_rollouts, request.max_rollouts);
}

/// The penalised loss of eq. 20 turned into EXP3.P's reward in [0, 1] by the range it can have at this price: lower loss, more reward.
double PaperGdroAllocator::reward(double gain, std::int64_t count) const {
  const ArmSignal& kind = knowledge_->arm_signal();
  const double loss = -std::clamp(gain, kind.least(score_cap_), kind.most(score_cap_)) + price_ * double(count);
  const auto [cheap, dear] = std::minmax({price_ * double(least_arm_), price_ * double(most_arm_)});
  const double least = -kind.most(score_cap_) + cheap, most = -kind.least(score_cap_) + dear;
  return most > least ? (most - loss) / (most - least) : 0.0;
}

void PaperGdroAllocator::learn(const std::vector<GroupReport>& reports) {
  if (reports.empty()) return;
  const BinResults& results = knowledge_->latest();
  const std::size_t bins = results.groups.size();
  auto weights = log_weights_;
  weights.resize(bins, std::vector<double>(arms(), 0.0));
  for (std::size_t b = 0; b < bins; ++b) {
    if (results.groups[b] == 0 || !std::isfinite(results.gain[b])) continue;
    const std::int64_t played = std::llround(double(results.rollouts[b]) / double(results.groups[b]));  // after repairs and later rounds
    if (played < least_arm_ || played > most_arm_) continue;
    Exp3p arm_player = bandit(b);
    arm_player.learn(std::size_t(played - least_arm_), reward(results.gain[b], played));
    weights[b] = arm_player.log_weights();
  }
  price_ = shadow_price(price_, price_rate_, excess_, 0.0);
  excess_ = 0.0;
  log_weights_ = std::move(weights);
}

nlohmann::json PaperGdroAllocator::save() const { return {{"price", price_}, {"log_weights", log_weights_}}; }

void PaperGdroAllocator::load(const nlohmann::json& state) {
  auto weights = state.at("log_weights").get<std::vector<std::vector<double>>>();
  const bool fits = (weights.empty() || weights.size() == knowledge_->bins().size()) &&
                    std::all_of(weights.begin(), weights.end(), [&](const auto& w) { return w.size() == arms(); });
  require<StorageError>(fits, "the saved bandits have other bins or arms", "the run would not continue where it stopped",
                        "resume with the knobs it was started with");
  price_ = state.at("price").get<double>();
  log_weights_ = std::move(weights);
}

}  // namespace rollcall::scheduling
