// A job of the smallest model over a few short prompts, for tests that need a RunContext and no
// run.
#pragma once

#include "core/run_config.hpp"
#include "run/context/run_context.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace rollcall::run::test {

/// Settings of `more` come last, so they win.
inline RunContext small_job(const std::filesystem::path& folder,
                            const std::vector<std::string>& more) {
  std::vector<std::string> settings{"run.dir=\"" + folder.string() + "\"",
                                    "run.log_level=error",
                                    "task.validation_prompts=2",
                                    "task.heldout_prompts=2",
                                    "task.min_level=2",
                                    "task.max_level=3",
                                    "model.hidden_size=16",
                                    "model.intermediate_size=16",
                                    "model.num_hidden_layers=1",
                                    "model.num_attention_heads=1",
                                    "model.num_key_value_heads=1",
                                    "model.head_dim=16"};
  settings.insert(settings.end(), more.begin(), more.end());
  return make_context(load_run_config({}, settings), {});
}

}  // namespace rollcall::run::test
