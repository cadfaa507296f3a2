// Four rules that weigh the rewards of an arm against the uncertainty about it.
#include "scheduling/sampler/bandit.hpp"

#include "base/errors/error.hpp"
#include "base/text/json.hpp"
#include "scheduling/prompts/beta_counts.hpp"
#include "scheduling/prompts/outcomes.hpp"
#include "scheduling/sampler/ranked.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace rollcall::scheduling {

BanditSampler::BanditSampler(Knowledge& knowledge, Rule rule)
    : ArmSampler(knowledge, rule == Rule::softmax ? "level" : "bin"), rule_(rule) {
  knowledge.signals.use_pay();
  if (rule != Rule::softmax) knowledge.history.use_bins();
}

void BanditSampler::bind(ConfigSchema& s) {
  if (rule_ == Rule::softmax) {
    bind_arms(s);
    s.bind("bandit_rate", &rate_, "share of the newest step in an arm's value", {0, 1});
    s.bind("bandit_temperature", &temperature_, "of the softmax over the arms' values",
           {1e-6, 1e6});
    s.bind("absent_decays", &absent_decays_,
           "an arm without a group in the step has paid nothing, rather than nothing new");
    return;
  }
  if (rule_ == Rule::epsilon)
    s.bind("epsilon", &epsilon_, "chance of any arm instead of the best", {0, 1});
  if (rule_ == Rule::ucb)
    s.bind("ucb_width", &width_, "weight of what is not known of an arm", {0, 1e6});
  s.bind("bandit_discount", &discount_, "share of an arm's older results kept per step", {0, 1});
}

double BanditSampler::worth(std::size_t arm, double tries, double all_tries) const {
  const Arm& a = arms_known_[arm];
  const double mean = a.tried > 0 ? a.won / a.tried : 0.0;
  // An arm that was never played comes first.
  if (rule_ == Rule::epsilon) return a.tried > 0 ? mean : std::numeric_limits<double>::infinity();
  return tries > 0 ? mean + width_ * std::sqrt(std::log(std::max(all_tries, 1.0)) / tries)
                   : std::numeric_limits<double>::infinity();
}

std::vector<double> BanditSampler::chances(const StepRequest& request,
                                           const std::vector<std::int64_t>& pulled) {
  arms_known_.resize(arms());
  std::vector<double> chance(arms());
  if (rule_ == Rule::softmax) {
    double top = -std::numeric_limits<double>::infinity();
    for (const Arm& a : arms_known_) top = std::max(top, a.value);
    for (std::size_t a = 0; a < arms(); ++a)
      chance[a] = std::exp((arms_known_[a].value - top) / temperature_);
    return chance;
  }
  const std::int64_t place = std::accumulate(pulled.begin(), pulled.end(), std::int64_t{0});
  const RandomStream stream =
      knowledge().random(request.step, std::uint64_t(SamplerUse::posterior));
  double all = double(place);
  for (const Arm& a : arms_known_) all += a.tried;
  std::size_t best = arms();
  double best_worth = -1.0;
  for (std::size_t a = 0; a < arms(); ++a) {
    if (std::int64_t(size(a)) <= pulled[a]) continue;  // the step has every prompt of the arm
    const Arm& known = arms_known_[a];
    const double missed = std::max(0.0, known.tried - known.won);
    const double value =
        rule_ == Rule::thompson
            ? draw_beta(stream, std::uint64_t(place) * arms() + a, 1.0 + known.won, 1.0 + missed)
            : worth(a, known.tried + double(pulled[a]), all);
    if (value > best_worth) best = a, best_worth = value;
  }
  if (best == arms()) return chance;
  chance[best] = 1.0;
  if (rule_ != Rule::epsilon) return chance;
  const double open = double(std::count_if(
      pulled.begin(), pulled.end(),
      [&, a = std::size_t{0}](std::int64_t n) mutable { return std::int64_t(size(a++)) > n; }));
  for (std::size_t a = 0; a < arms(); ++a)
    chance[a] =
        (1.0 - epsilon_) * chance[a] + (std::int64_t(size(a)) > pulled[a] ? epsilon_ / open : 0.0);
  return chance;
}

void BanditSampler::observe(const std::vector<std::vector<const GroupReport*>>& by_arm) {
  arms_known_.resize(arms());
  clipped_ = 0;
  for (std::size_t a = 0; a < arms(); ++a) {
    Arm& arm = arms_known_[a];
    const auto groups = double(by_arm[a].size());
    double sum = 0.0, won = 0.0;
    for (const GroupReport* report : by_arm[a]) {
      const double paid = pay(*report);
      const bool is_capped = rule_ == Rule::thompson && paid > 1.0;
      sum += paid, won += is_capped ? 1.0 : paid;
      clipped_ += is_capped ? 1 : 0;
    }
    if (groups > 0 || absent_decays_)
      arm.value = (1.0 - rate_) * arm.value + rate_ * (groups > 0 ? sum / groups : 0.0);
    arm.won = discount_ * arm.won + won;
    arm.tried = discount_ * arm.tried + groups;
  }
}

nlohmann::json BanditSampler::save() const {
  auto rows = nlohmann::json::array();
  for (const Arm& a : arms_known_) rows.push_back({a.value, a.won, a.tried});
  return {{"arms", std::move(rows)}};
}

void BanditSampler::load(const nlohmann::json& state) {
  const auto& rows = state.at("arms");
  require<StorageError>(rows.empty() || rows.size() == arms(),
                        fmt::format("a saved bandit of {} arms, not {}", rows.size(), arms()),
                        "the run would not continue where it stopped",
                        "resume with the scheduler and task sections it was started with");
  arms_known_.clear();
  for (const auto& row : rows)
    arms_known_.push_back(
        {row.at(0).get<double>(), row.at(1).get<double>(), row.at(2).get<double>()});
}

std::vector<std::pair<std::string, double>> BanditSampler::metrics() const {
  std::vector<std::pair<std::string, double>> values;
  for (std::size_t a = 0; a < arms_known_.size(); ++a) {
    const Arm& arm = arms_known_[a];
    values.emplace_back(fmt::format("bandit/value/{}", a), rule_ == Rule::softmax ? arm.value
                                                           : arm.tried > 0 ? arm.won / arm.tried
                                                                           : 0.0);
  }
  if (clipped_ > 0) values.emplace_back("bandit/clipped_pay", double(clipped_));
  return values;
}

}  // namespace rollcall::scheduling
