// The models of a run as their folders describe them. Their need of memory follows from that.
#pragma once

#include "core/run_config.hpp"
#include "model/tensors/weights.hpp"
#include "sizing/memory.hpp"
#include "text/tokenizer/tokenizer.hpp"

namespace rollcall::run {

/// Reads config.json of the policy (run.init_from or model.path) and of the other models of the
/// run. Throws InputError, ConfigError.
sizing::RunModels models_of(const RunConfig& config, const text::Tokenizer& tokenizer);

/// Adds the largest step that the scheduler may draw. Throws ConfigError as policy_without_prompts
/// does.
void add_step_bounds(sizing::RunModels& models, const RunConfig& config);

/// The configuration of the judge or reward model, from config.json of its folder. How much memory
/// the model needs follows from it.
model::ModelConfig judge_config(const JudgeSection& section);

}  // namespace rollcall::run
