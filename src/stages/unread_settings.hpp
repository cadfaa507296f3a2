// Settings that nothing of the run would read.
#pragma once

#include "core/run_config.hpp"
#include "method/method.hpp"

namespace rollcall::stages {

/// Throws ConfigError naming a setting that differs from its default although what reads it is not
/// part of the run: a reference, a teacher, a value head or probes that the objective does not ask
/// for, a judge without a model, what only another task reads. A run that differs in it alone would
/// train the same. Warns of a shape other than that of the model that is read.
void check_unread_settings(const RunConfig& config, const method::Method& objective);

}  // namespace rollcall::stages
