// Draws bins by the prompt game, and prompts by a partial shuffle of each bin.
#include "scheduling/sampler/gdro_resample.hpp"

#include "base/text/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <numeric>
#include <unordered_map>

namespace rollcall::scheduling {
namespace {

constexpr std::uint64_t kBinDraws = 311;  // this piece's random numbers of a step

/// The members not yet drawn: a Fisher-Yates shuffle that stores only the places it has changed.
class Urn {
 public:
  explicit Urn(const std::deque<std::uint32_t>& members)
      : members_(&members), left_(members.size()) {}
  std::size_t left() const { return left_; }
  std::uint32_t take(std::size_t place) {
    const std::uint32_t taken = at(place);
    moved_[place] = at(--left_);
    return taken;
  }
  void remove(std::uint32_t slot) {  // a member by its place in the list, before any take()
    std::size_t place = slot;
    while (place >= left_) place = whereabouts_.at(place);
    const std::size_t last = --left_;
    moved_[place] = at(last);
    whereabouts_[last] = place;
  }

 private:
  std::uint32_t at(std::size_t place) const {
    const auto it = moved_.find(place);
    return it == moved_.end() ? (*members_)[place] : it->second;
  }
  const std::deque<std::uint32_t>* members_;
  std::size_t left_;
  std::unordered_map<std::size_t, std::uint32_t> moved_;
  std::unordered_map<std::size_t, std::size_t> whereabouts_;
};

/// One pass over the prompts: the members left in each bin, and the chance of each bin.
class Pass {
 public:
  Pass(const DifficultyBins& bins, const std::vector<double>& q, const std::vector<PromptId>& held)
      : q_(q) {
    for (std::size_t b = 0; b < bins.size(); ++b) urns_.emplace_back(bins.members(std::int32_t(b)));
    for (std::size_t i = 0; i < held.size(); ++i) {
      if (i == 0 || held[i] != held[i - 1])
        urns_[std::size_t(bins.of(held[i]))].remove(bins.slot(held[i]));
    }
  }
  std::size_t left() const {
    return std::accumulate(urns_.begin(), urns_.end(), std::size_t{0},
                           [](std::size_t sum, const Urn& urn) { return sum + urn.left(); });
  }
  /// Uses the random numbers `index` (bin) and `index` + 1 (place within it).
  PromptDraw take(const RandomStream& random, std::uint64_t index, std::uint32_t draw) {
    double open = 0.0;
    for (std::size_t b = 0; b < q_.size(); ++b) open += urns_[b].left() > 0 ? q_[b] : 0.0;
    std::size_t bin = q_.size();
    double reach = random.uniform(index) * open;
    for (std::size_t b = 0; b < q_.size() && (bin == q_.size() || reach >= 0.0); ++b) {
      if (urns_[b].left() == 0) continue;
      bin = b;  // the last open bin takes the rest that rounding leaves
      reach -= q_[b];
    }
    const std::size_t left = urns_[bin].left();
    return {{urns_[bin].take(random.below(index + 1, left))}, draw, q_[bin] / open / double(left)};
  }

 private:
  std::vector<double> q_;
  std::vector<Urn> urns_;
};

}  // namespace

GdroResample::GdroResample(Knowledge& knowledge) : knowledge_(&knowledge) {
  knowledge.history.use_bins();
  knowledge.signals.use_signal();
}

void GdroResample::bind(ConfigSchema& knobs) {
  game_.bind(knobs);
  knobs.bind(
      "draw_by", &draw_by_,
      "chance of a bin: probability = q, however many prompts it has; probability_times_population = q times their number",
      {}, {"probability", "probability_times_population"});
}

/// Relative chances of the bins.
std::vector<double> GdroResample::bin_weights() const {
  auto q = game_.probabilities(knowledge_->history.bins().size());
  for (std::size_t b = 0; draw_by_ != "probability" && b < q.size(); ++b)
    q[b] *= double(knowledge_->history.bins().members(std::int32_t(b)).size());
  return q;
}

std::vector<PromptDraw> GdroResample::choose(const StepRequest& request,
                                             const std::vector<PromptId>& held) {
  const DifficultyBins& bins = knowledge_->history.bins();
  const auto q = bin_weights();
  const RandomStream random = knowledge_->random(request.step, kBinDraws);
  std::uint64_t index = std::uint64_t(held.size()) << 32;  // a refill uses other random numbers
  const auto wanted = std::size_t(request.prompts);
  std::vector<PromptDraw> draws;
  draws.reserve(wanted);
  Pass pass(bins, q, held);
  for (std::uint32_t draw = 0; draws.size() < wanted; index += 2) {
    if (pass.left() == 0) {
      pass = Pass(bins, q, {});
      ++draw;
    }
    draws.push_back(pass.take(random, index, draw));
  }
  return draws;
}

void GdroResample::learn(const std::vector<GroupReport>&) { game_.learn(knowledge_->latest()); }

nlohmann::json GdroResample::save() const { return game_.save(); }
void GdroResample::load(const nlohmann::json& state) {
  game_.load(state, knowledge_->history.bins().size());
}

std::vector<std::pair<std::string, double>> GdroResample::metrics() const {
  std::vector<std::pair<std::string, double>> metrics;
  const auto q = game_.probabilities(knowledge_->history.bins().size());
  for (std::size_t b = 0; b < q.size(); ++b)
    metrics.emplace_back(fmt::format("gdro/probability/{}", b), q[b]);
  if (const auto clipped = game_.clipped(); clipped > 0)
    metrics.emplace_back("gdro/clipped_scores", double(clipped));
  return metrics;
}

}  // namespace rollcall::scheduling
