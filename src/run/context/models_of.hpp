// The models of a run, as their folders describe them.
#pragma once

#include "core/run_config.hpp"
#include "model/tensors/weights.hpp"
#include "sizing/memory.hpp"
#include "text/tokenizer/tokenizer.hpp"

namespace rollcall::run {

/// Reads config.json of run.init_from or model.path, and of the models beside it. Throws
/// InputError, ConfigError.
sizing::RunModels models_of(const RunConfig& config, const text::Tokenizer& tokenizer);

/// What a step may draw, by the scheduler's own cap. Throws ConfigError as policy_without_prompts
/// does.
void add_step_bounds(sizing::RunModels& models, const RunConfig& config);

/// config.json of its folder, for what it takes of memory.
model::ModelConfig judge_config(const JudgeSection& section);

}  // namespace rollcall::run
