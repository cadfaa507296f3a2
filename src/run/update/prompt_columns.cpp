// Makes columns with one number for each rollout, which depends on the rollout's prompt.
#include "run/update/prompt_columns.hpp"

#include "base/errors/error.hpp"
#include "core/derived_prompt.hpp"
#include "method/columns.hpp"
#include "run/step/group_training.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace rollcall::run {

PromptColumns::PromptColumns(const RunConfig& config, const std::vector<Prompt>& prompts,
                             const method::Objective& objective, const ObjectiveState& state)
    : config_(&config), prompts_(&prompts), objective_(&objective), state_(&state) {}

bool PromptColumns::reads(const char* column) const {
  const auto columns = objective_->columns();
  return std::find(columns.begin(), columns.end(), column) != columns.end();
}

method::StepColumns PromptColumns::complete(method::StepColumns columns, const UpdatePlan& plan,
                                            const StepBatch& batch,
                                            const std::vector<std::size_t>& groups,
                                            const Statistics& statistics) const {
  const RunConfig& config = *config_;
  columns.seed = std::uint64_t(config.run.seed), columns.step = plan.step;
  columns.progress = plan.progress;
  columns.statistics = statistics;
  const auto by_prompt = [&](const char* name, const auto& value_of) {
    std::vector<double> column;
    for (const std::size_t g : groups) {
      const PromptId prompt = batch.groups[g].id.prompt;
      require<ConfigError>(
          !is_derived(prompt) || !reads(name),
          fmt::format("objective.recipe {} reads {}, and step {} holds derived prompts",
                      config.objective.recipe, name, plan.step),
          "it is known of prompts that come again, and a derived prompt is asked once",
          "choose another recipe");
      column.insert(
          column.end(), batch.groups[g].rollouts.size(),
          is_derived(prompt) ? std::numeric_limits<double>::quiet_NaN() : value_of(prompt));
    }
    columns.named[name] = std::move(column);
  };
  namespace column = method::column;
  by_prompt(column::prior, [&](PromptId prompt) { return state_->success.of(prompt).prior(); });
  by_prompt(column::posterior,
            [&](PromptId prompt) { return state_->success.of(prompt).posterior(); });
  by_prompt(column::predicted, [&](PromptId prompt) {
    const bool known = prompt.value < prompts_->size();
    require<ConfigError>(
        known || !reads(column::predicted),
        fmt::format(
            "objective.recipe {} reads what was predicted of each prompt, and step {} of the archive asks one that the run file does not have",
            config.objective.recipe, plan.step),
        "nothing is predicted of it",
        "train from an archive of the same questions, or choose another recipe");
    return known ? double((*prompts_)[prompt.value].prior)
                 : std::numeric_limits<double>::quiet_NaN();
  });
  by_prompt(column::prompt_best_length,
            [&](PromptId prompt) { return double(state_->best(prompt)); });
  add_training(columns, batch, groups);
  return columns;
}

}  // namespace rollcall::run
