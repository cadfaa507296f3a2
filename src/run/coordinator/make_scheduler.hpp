// Makes the scheduler of a run from its settings and from what its task knows about the prompts.
#pragma once

#include "core/run_config.hpp"
#include "run/context/run_texts.hpp"
#include "scheduling/scheduler.hpp"

#include <memory>
#include <string>

namespace rollcall::run {

/// Makes the same scheduler on a fresh start and on resume. Throws ConfigError when the scheduler
/// needs something that the run does not provide.
std::unique_ptr<scheduling::Scheduler> make_scheduler(const RunConfig& config,
                                                      const RunTexts& texts);

/// The measure of diversity that a scheduler asks for; empty where it asks for none.
std::string diversity_of(const scheduling::Scheduler& policy);

}  // namespace rollcall::run
