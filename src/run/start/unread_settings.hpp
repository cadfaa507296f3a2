// Finds settings that no part of the run would read.
#pragma once

#include "core/run_config.hpp"
#include "method/method.hpp"

namespace rollcall::run {

/// Adds a fault for each setting that differs from its default although the part that reads it is
/// not in the run: a reference, a teacher, a value head or probes that the objective does not ask
/// for, a judge without a model, a warm start without steps, a setting of a different task. Two
/// runs that differ only in such a setting would train identically. `objective`: null if its
/// settings are wrong.
void check_unread_settings(const RunConfig& config, const method::Objective* objective,
                           Faults& faults);

/// Adds a fault for each shape setting that differs from the files of a model that is read, because
/// the files count. If --set names the model, a setting of the run file causes only a warning,
/// because one run file may serve both for a model that is read and for a model that is made. All
/// settings are only warned about in a run that continues (`is_new` is false).
void check_shapes(const RunConfig& config, bool is_new, Faults& faults);

}  // namespace rollcall::run
