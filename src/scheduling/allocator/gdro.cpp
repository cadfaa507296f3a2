// Draws the bins' arms at the budget, and learns the gain from each further rollout of a group.
#include "scheduling/allocator/gdro.hpp"

#include "base/text/json.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace rollcall::scheduling {
namespace {

constexpr std::uint64_t kArmDraws = 301;  // this piece's random numbers of a step: 0 chooses Q_w
                                          // or Q_u, 1 the total, 2 + i the i-th bin with prompts
constexpr double kFewCombinations = 50;   // a total with fewer combinations leaves bins no choice,
                                          // so it gets some slack
constexpr double kLeastChance = 0.05;     // c: an estimate counts at most 1 / c times; 0.02 to 0.2
                                          // work equally well (benchmarks/README.md)
constexpr double kSteepest = 64.0;        // largest price of a rollout that is tried: at exp(64) a
                                          // bin has only one arm left
constexpr int kHalvings = 40;

/// Gives or takes single rollouts, one per group in the order of the decision, again from the
/// start, until the total is met.
std::int64_t repair(std::vector<std::int64_t>& count, std::int64_t missing,
                    const StepRequest& request) {
  const std::int64_t unit = missing > 0 ? 1 : -1, repaired = std::abs(missing);
  for (std::size_t i = 0; missing != 0; i = (i + 1) % count.size()) {
    const std::int64_t next = count[i] + unit;
    if (next < request.min_rollouts || next > request.max_rollouts) continue;
    count[i] = next;
    missing -= unit;
  }
  return repaired;
}

}  // namespace

GdroAllocator::GdroAllocator(Knowledge& knowledge) : knowledge_(&knowledge) {
  knowledge.history.use_bins();
  knowledge.signals.use_arm_signal(true);
}

void GdroAllocator::bind(ConfigSchema& s) {
  table_.bind(s);
  s.bind("arm_rate", &rate_, "learning rate of the counts' weights", {0, 100});
  s.bind("arm_fade", &fade_,
         "share of what is known of a bin's counts that a step of it takes away", {0, 1});
  s.bind("arm_explore", &explore_,
         "chance of a step whose counts are drawn whatever is known of them", {0, 1});
  s.bind(
      "total_slack", &slack_,
      "share of the budget that the drawn total may miss where under 50 combinations of counts meet it; single rollouts make it whole",
      {0, 0.25});
}

/// exp(x_b (L_b(n) - price (n - low))) for the arms from `low` on, relative to the largest.
std::vector<double> GdroAllocator::weights(std::size_t bin, std::int64_t low, std::size_t size,
                                           double price) const {
  std::vector<double> w(size);
  for (std::size_t a = 0; a < size; ++a)
    w[a] = plays_[bin].share * (table_.at(bin, low + std::int64_t(a)) - price * double(a));
  const double most = *std::max_element(w.begin(), w.end());
  for (double& x : w) x = std::exp(x - most);
  return w;
}

/// The price of a rollout at which independent bins would spend the budget on average. For a given
/// total the price cancels. It only keeps the weights of the combinations that meet the budget
/// within the range of a double, and decides among totals if there is slack.
double GdroAllocator::price(const std::vector<BudgetedArms::Bin>& bins,
                            const std::vector<std::size_t>& bin, std::int64_t low,
                            const StepRequest& request) const {
  double below = -kSteepest, above = kSteepest;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = 0.5 * (below + above);
    double spent = 0.0;
    for (std::size_t k = 0; k < bins.size(); ++k) {
      const auto w = weights(bin[k], low, bins[k].weight.size(), middle);
      double sum = 0.0, counts = 0.0;
      for (std::size_t a = 0; a < w.size(); ++a)
        sum += w[a], counts += w[a] * double(low + std::int64_t(a));
      spent += double(bins[k].prompts) * counts / sum;
    }
    (spent > double(request.budget) ? below : above) = middle;
  }
  return 0.5 * (below + above);
}

/// Draws an arm for every bin that has prompts in the step, into plays_. Returns false if no
/// combination is near enough to the budget.
bool GdroAllocator::play(const StepRequest& request, const std::vector<std::int64_t>& prompts) {
  const std::int64_t low = std::max(table_.least(), request.min_rollouts),
                     high = std::min(table_.most(), request.max_rollouts);
  if (low > high) return false;
  std::vector<BudgetedArms::Bin> bins;
  std::vector<std::size_t> bin;
  for (std::size_t b = 0; b < prompts.size(); ++b) {
    if (prompts[b] == 0) continue;
    bins.push_back({prompts[b], std::vector<double>(std::size_t(high - low + 1), 1.0)});
    bin.push_back(b);
  }
  const auto groups = double(std::accumulate(prompts.begin(), prompts.end(), std::int64_t{0}));
  for (const std::size_t b : bin)
    plays_[b].share = double(prompts[b]) * double(bin.size()) / groups;

  const auto most_slack = std::int64_t(slack_ * double(request.budget));
  BudgetedArms uniform(bins, low, request.budget, most_slack);
  std::int64_t slack = 0;
  while (slack < most_slack && uniform.mass(slack) < kFewCombinations) ++slack;
  if (uniform.mass(slack) < 1.0) return false;
  uniform.condition(slack);
  const double at = price(bins, bin, low, request);
  for (std::size_t k = 0; k < bins.size(); ++k)
    bins[k].weight = weights(bin[k], low, bins[k].weight.size(), at);
  BudgetedArms weighted(bins, low, request.budget, most_slack);
  // If the weights are too small for a double, the uniform draw takes their place.
  const double explore = weighted.mass(slack) > 0.0 ? explore_ : 1.0;
  if (explore < 1.0) weighted.condition(slack);

  const RandomStream random = knowledge_->random(request.step, kArmDraws);
  const auto arm = (random.uniform(0) < explore ? uniform : weighted).draw(random, 1);
  for (std::size_t k = 0; k < bins.size(); ++k) {
    Play& play = plays_[bin[k]];
    play.count = low + std::int64_t(arm[k]);
    play.reached.assign(table_.arms(), 1.0);  // arms below `low` are always reached
    double sum = 0.0;
    for (std::int64_t n = high; n >= low; --n) {
      const auto a = std::size_t(n - low);
      sum += explore * uniform.marginals()[k][a] +
             (explore < 1.0 ? (1.0 - explore) * weighted.marginals()[k][a] : 0.0);
      play.reached[std::size_t(n - table_.least())] = sum;
    }
  }
  return true;
}

std::vector<std::int64_t> GdroAllocator::counts(const StepRequest& request,
                                                const std::vector<GroupPlan>& groups) {
  const StepBins bins = knowledge_->history.step_bins(groups);
  plays_.assign(bins.prompts.size(), {});
  repaired_ = 0;
  table_.arms();  // throws for impossible arms
  if (!play(request, bins.prompts))
    return apportion(std::vector<double>(groups.size(), 1.0), request.budget, request.min_rollouts,
                     request.max_rollouts);
  std::vector<std::int64_t> count(groups.size());
  std::int64_t total = 0;
  for (std::size_t i = 0; i < groups.size(); ++i) total += count[i] = plays_[bins.of[i]].count;
  repaired_ = repair(count, request.budget - total, request);
  return count;
}

void GdroAllocator::learn(const std::vector<GroupReport>& reports) {
  std::vector<Play> plays = std::move(plays_);
  plays_.clear();
  const std::vector<std::int32_t>& bin_of = knowledge_->latest().bin_of_report;
  if (plays.empty() || bin_of.size() != reports.size()) return;
  const std::size_t arms = table_.arms();
  auto& log_weight = table_.rows(plays.size());
  // [bins][arms] sum of J(n) - J(n - 1), and the number of summands
  std::vector<std::vector<double>> added(plays.size(), std::vector<double>(arms)), groups = added;
  for (std::size_t i = 0; i < reports.size(); ++i) {
    const auto b = std::size_t(bin_of[i]);
    // The group has fewer rewards than its bin's arm, for example after repair(), so it did not
    // play it.
    if (std::int64_t(reports[i].rewards.size()) < plays[b].count) continue;
    for (std::int64_t n = table_.least() + 1; n <= plays[b].count; ++n) {
      const double step = knowledge_->signals.gain(reports[i], std::size_t(n)) -
                          knowledge_->signals.gain(reports[i], std::size_t(n - 1));
      if (!std::isfinite(step)) continue;
      added[b][std::size_t(n - table_.least())] += step;
      groups[b][std::size_t(n - table_.least())] += 1.0;
    }
  }
  for (std::size_t b = 0; b < plays.size(); ++b) {
    if (plays[b].count == 0) continue;
    double sum = 0.0;
    for (std::size_t a = 0; a < arms; ++a) {
      if (groups[b][a] > 0.0)
        sum += added[b][a] / groups[b][a] / (plays[b].reached[a] + kLeastChance);
      log_weight[b][a] = (1.0 - fade_) * log_weight[b][a] + rate_ * sum;
    }
  }
}

std::vector<std::pair<std::string, double>> GdroAllocator::metrics() const {
  auto all = table_.metrics();
  all.insert(all.begin(), {"gdro/repaired", double(repaired_)});
  return all;
}

nlohmann::json GdroAllocator::save() const { return {{"weights", table_.save()}}; }

void GdroAllocator::load(const nlohmann::json& state) {
  table_.load(state.at("weights"), knowledge_->history.bins().size());
  plays_.clear();
}

}  // namespace rollcall::scheduling
