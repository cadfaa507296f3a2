// The weight of a group is the prompt game's weight for the bin of its prompt.
#include "scheduling/selection/gdro_reweight.hpp"

#include "base/text/json.hpp"

#include <fmt/format.h>

#include <numeric>

namespace rollcall::scheduling {

GdroReweight::GdroReweight(Knowledge& knowledge) : knowledge_(&knowledge) {
  knowledge.history.use_bins();
  knowledge.signals.use_signal();
}

void GdroReweight::bind(ConfigSchema& knobs) {
  game_.bind(knobs);
  knobs.bind(
      "weigh_by", &weigh_by_,
      "weight of a bin's advantages: omega = min(w, weight_cap); probability = q, scaled to a mean of 1; probability_over_share = q / share of the step",
      {}, {"omega", "probability", "probability_over_share"});
}

/// [bins] weights in a step with these numbers of rollouts in the bins.
std::vector<double> GdroReweight::weights(const PromptGame& game,
                                          const std::vector<std::int64_t>& rollouts) const {
  std::vector<double> weight(rollouts.size());
  if (weigh_by_ == "omega") {
    for (std::size_t b = 0; b < weight.size(); ++b) weight[b] = game.capped_weight(b);
    return weight;
  }
  const auto q = game.probabilities(rollouts);
  const auto total = double(std::accumulate(rollouts.begin(), rollouts.end(), std::int64_t{0}));
  double mean = 0.0;
  for (std::size_t b = 0; b < weight.size(); ++b) mean += q[b] * double(rollouts[b]) / total;
  for (std::size_t b = 0; b < weight.size(); ++b) {
    if (rollouts[b] > 0)
      weight[b] =
          game.cap(weigh_by_ == "probability" ? q[b] / mean : q[b] * total / double(rollouts[b]));
  }
  return weight;
}

std::vector<std::int64_t> GdroReweight::population() const {
  std::vector<std::int64_t> members(knowledge_->history.bins().size());
  for (std::size_t b = 0; b < members.size(); ++b)
    members[b] = std::int64_t(knowledge_->history.bins().members(std::int32_t(b)).size());
  return members;
}

double GdroReweight::weight(PromptId prompt) const {
  return weights(game_, population())[std::size_t(knowledge_->history.bins().of(prompt))];
}

std::vector<GroupTraining> GdroReweight::select(const StepRequest&,
                                                const std::vector<GroupReport>& reports) {
  PromptGame now = game_;
  const BinResults results = knowledge_->by_bin(reports);
  now.learn(results);
  const auto weight = weights(now, results.rollouts);
  std::vector<GroupTraining> groups;
  for (const GroupReport& report : reports) {
    const double w = weight[std::size_t(knowledge_->history.bins().of(report.id.prompt))];
    if (w != 1.0) groups.push_back({.id = report.id, .weight = w});
  }
  return groups;
}

void GdroReweight::learn(const std::vector<GroupReport>&) { game_.learn(knowledge_->latest()); }

nlohmann::json GdroReweight::save() const { return game_.save(); }
void GdroReweight::load(const nlohmann::json& state) {
  game_.load(state, knowledge_->history.bins().size());
}

std::vector<std::pair<std::string, double>> GdroReweight::metrics() const {
  std::vector<std::pair<std::string, double>> metrics;
  const auto q = game_.probabilities(knowledge_->history.bins().size());
  const auto members = population();
  const auto weight = weights(game_, members);
  for (std::size_t b = 0; b < q.size(); ++b) {
    // no group has the weight of an empty bin
    if (members[b] > 0 || weigh_by_ == "omega")
      metrics.emplace_back(fmt::format("gdro/weight/{}", b), weight[b]);
  }
  for (std::size_t b = 0; b < q.size(); ++b)
    metrics.emplace_back(fmt::format("gdro/probability/{}", b), q[b]);
  if (const auto clipped = game_.clipped(); clipped > 0)
    metrics.emplace_back("gdro/clipped_scores", double(clipped));
  return metrics;
}

}  // namespace rollcall::scheduling
