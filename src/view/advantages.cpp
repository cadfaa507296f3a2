// Assembles a step as the update does, without the values that only a model could add.
#include "view/advantages.hpp"

#include "method/columns.hpp"
#include "run/context/column_sources.hpp"
#include "run/step/group_training.hpp"
#include "run/step/step_batch.hpp"
#include "run/step/undecided.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace rollcall::view {
namespace {

namespace column = method::column;

bool is_archived(const std::string& name) {
  return name == column::correct || name == column::answer || name == column::expert ||
         name == column::old_entropy || name == column::greedy_reward || name == column::opening ||
         name.starts_with("component/");
}

std::string who_knows(const std::string& name) {
  if (name.starts_with("reference")) return "the reference policy's log-probs";
  if (name.starts_with("teacher")) return "the teacher's log-probs";
  if (name == column::value) return "the critic's values";
  if (name == column::prior || name == column::posterior || name == column::predicted)
    return "each prompt's tracked success";
  return fmt::format("the column {}", name);
}

}  // namespace

Advantages::Advantages(const std::optional<RunConfig>& config) : config_(config) {
  if (!config_) {
    why_not_ =
        "Advantages are not shown: there is no config.toml beside the archive that names the "
        "recipe.";
    return;
  }
  const auto& section = config_->objective;
  try {
    objective_ = method::make_objective(section.recipe, section.pieces, section.knobs);
  } catch (const ConfigError&) {
    why_not_ = fmt::format(
        "Advantages are not shown: this version does not know the recipe {} as the run has it.",
        section.recipe);
    return;
  }
  find_obstacle();
}

void Advantages::find_obstacle() {
  const auto refuse = [&](const std::string& what) {
    if (why_not_.empty())
      why_not_ = fmt::format(
          "Advantages are not shown: the recipe {} reads {}, which the archive does not hold.",
          config_->objective.recipe, what);
  };
  if (objective_->needs_value()) refuse(who_knows(column::value));
  for (const auto& name : objective_->columns()) {
    if (!is_archived(name)) refuse(who_knows(name));
    needs_greedy_ |= name == column::greedy_reward;
  }
  if (run::learns_given(*config_, *objective_)) refuse("log-probs of beginnings that were given");
  if (config_->replay.share > 0) refuse("which earlier groups were replayed in each step");
  if (config_->experts.share > 0) refuse("the experts' rollouts");
  if (!config_->train.from_archive.empty()) refuse("the rollouts of another run");
}

std::vector<std::vector<double>> Advantages::of(const std::vector<io::ArchivedGroup>& groups,
                                                const std::vector<std::string>& component_names,
                                                const std::map<PromptId, double>& greedy) const {
  if (!why_not_.empty() || groups.empty()) return {};
  run::StepBatch batch;
  batch.component_names = component_names;
  if (needs_greedy_) batch.greedy = greedy;
  for (const auto& g : groups) {
    if (needs_greedy_ && !greedy.contains(g.group.id.prompt)) return {};
    batch.groups.push_back(g.group), batch.scores.push_back(g.scores);
    batch.training.push_back(run::recorded(g.group.id, g.training));
  }
  const bool drop = config_->reward.undecided == "drop";
  const auto seed = std::uint64_t(config_->run.seed), step = groups.front().step;
  run::close_step(batch, *config_, step);
  const auto trained = run::mini_batch(batch, 0, 1);
  if (trained.empty()) return {};
  auto columns = run::make_train_batch(batch, trained, std::numeric_limits<std::int64_t>::max(),
                                       config_->sampling.max_new_tokens)
                     .columns;
  columns.seed = seed, columns.step = step;
  columns.progress = double(step - 1) / double(std::max<std::int64_t>(config_->train.steps, 1));
  run::add_training(columns, batch, trained);
  // advantages are computed once for the step and are the same for all its updates
  const auto prepared = objective_->prepare_step(columns);
  if (!prepared->statistics().empty())
    return {};  // a piece keeps statistics from step to step, and no file has them
  const auto values = prepared->token_advantages();
  std::vector<std::vector<double>> by_group(groups.size());
  auto at = values.begin();
  auto next = trained.begin();
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const bool trains = next != trained.end() && batch.groups[*next].id == groups[g].group.id;
    for (std::size_t i = 0; i < groups[g].scores.size(); ++i) {
      const auto count = std::size_t(run::policy_tokens(groups[g].group.rollouts[i]));
      by_group[g].insert(by_group[g].end(), count, 0.0);  // zeros for rollouts that have left the
                                                          // step, and for groups that do not train
      if (!trains || run::leaves_the_step(groups[g].scores[i], drop)) continue;
      std::copy_n(at, count, by_group[g].end() - std::ptrdiff_t(count));
      at += std::ptrdiff_t(count);
    }
    if (trains) ++next;
  }
  return by_group;
}

}  // namespace rollcall::view
