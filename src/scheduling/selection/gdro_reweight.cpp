// Weights of the prompt game, looked up by each group's own prompt.
#include "scheduling/selection/gdro_reweight.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace rollcall::scheduling {

GdroReweight::GdroReweight(Knowledge& knowledge) : knowledge_(&knowledge) {
  knowledge.use_bins();
  knowledge.use_signal();
}

std::vector<GroupTraining> GdroReweight::select(const StepRequest&, const std::vector<GroupReport>& reports) {
  PromptGame now = game_;
  now.learn(knowledge_->by_bin(reports));
  std::vector<GroupTraining> groups;
  for (const GroupReport& report : reports) {
    const double weight = now.capped_weight(std::size_t(knowledge_->bins().of(report.id.prompt)));
    if (weight != 1.0) groups.push_back({.id = report.id, .weight = weight});
  }
  return groups;
}

void GdroReweight::learn(const std::vector<GroupReport>&) { game_.learn(knowledge_->latest()); }

nlohmann::json GdroReweight::save() const { return game_.save(); }
void GdroReweight::load(const nlohmann::json& state) { game_.load(state, knowledge_->bins().size()); }

std::vector<std::pair<std::string, double>> GdroReweight::metrics() const {
  std::vector<std::pair<std::string, double>> metrics;
  const auto q = game_.probabilities(knowledge_->bins().size());
  for (std::size_t b = 0; b < q.size(); ++b) metrics.emplace_back(fmt::format("gdro/weight/{}", b), game_.capped_weight(b));
  for (std::size_t b = 0; b < q.size(); ++b) metrics.emplace_back(fmt::format("gdro/probability/{}", b), q[b]);
  return metrics;
}

}  // namespace rollcall::scheduling
