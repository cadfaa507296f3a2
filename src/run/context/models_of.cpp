// The models of a run follow from the columns of its objective, and the size of a step from its
// scheduler.
#include "run/context/models_of.hpp"

#include "base/errors/error.hpp"
#include "core/second_pass_bounds.hpp"
#include "method/columns.hpp"
#include "method/method.hpp"
#include "model/tensors/model_folder.hpp"
#include "model/train/reward_model.hpp"
#include "run/context/column_sources.hpp"
#include "run/context/step_bounds.hpp"
#include "run/folder/run_folder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>

namespace rollcall::run {

sizing::RunModels models_of(const RunConfig& c, const text::Tokenizer& tokenizer) {
  const std::filesystem::path source = weights_source(c);
  sizing::RunModels models;
  models.policy = source.empty()
                      ? model::model_config(c.model, tokenizer.vocab_size(), tokenizer.eos())
                      : model::read_folder_config(source);
  const auto objective =
      method::make_objective(c.objective.recipe, c.objective.pieces, c.objective.knobs);
  const auto columns = objective->columns();
  const auto wants = [&](const std::string& name) {
    return std::find(columns.begin(), columns.end(), name) != columns.end();
  };
  models.has_reference = wants(method::column::reference_logprob);
  if (models.has_reference) models.companions.push_back(models.policy);
  if ((wants(method::column::teacher_logprob) || wants(method::column::teacher_kl)) &&
      !c.teacher.model.empty())
    models.companions.push_back(model::read_folder_config(c.teacher.model));
  models.answers_greedily = wants(method::column::greedy_reward);
  models.state_gradients = wants(method::column::gradient_cosine);
  models.probed = wants(method::column::probe_confidence);
  models.whole_steps = step_at(c, *objective) == StepResidency::every_rank;
  if (c.guide.share > 0.0 && !c.guide.model.empty())
    models.guides.push_back(model::read_folder_config(c.guide.model));
  if (!c.judge.model.empty()) models.judges.push_back(judge_config(c.judge));
  return models;
}

void add_step_bounds(sizing::RunModels& models, const RunConfig& c) {
  const auto scheduler = policy_without_prompts(c);
  const SecondPassBounds again = second_pass_bounds(c);
  models.most_rollouts = scheduler->hard_cap(step_bounds(c)) + again.rollouts,
  models.most_rounds = scheduler->traits().most_rounds + again.rounds;
  if (c.second_pass.kind != "pool") return;
  // Every round is played twice. A pool has a whole number of rollouts for each group.
  models.most_rollouts += models.most_rollouts * std::int64_t(std::ceil(c.second_pass.factor));
  models.most_rounds *= 2;
}

model::ModelConfig judge_config(const JudgeSection& section) {
  const auto folder = checkpoint_folder(section.model);
  if (section.kind != "judge") return model::read_reward_config(folder);
  require<ConfigError>(
      !model::is_sequence_classifier(folder),
      fmt::format("judge.kind is judge, and {} holds a sequence classifier", section.model),
      "it scores and writes nothing", "set judge.kind = \"reward_model\"");
  return model::read_folder_config(folder);
}

}  // namespace rollcall::run
