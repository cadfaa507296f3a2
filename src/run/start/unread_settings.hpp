// Finds settings that no part of the run would read.
#pragma once

#include "core/run_config.hpp"
#include "method/method.hpp"

namespace rollcall::run {

/// Adds a fault for each setting that differs from its default although the part that reads it is
/// not in the run: a reference, a teacher, a value head or probes that the objective does not ask
/// for, a judge without a model, a warm start without steps, a setting of another task. Two runs
/// that differ only in such a setting would train the same. `objective`: null where its settings
/// are wrong.
void check_unread_settings(const RunConfig& config, const method::Objective* objective,
                           Faults& faults);

/// Warns of shape settings that differ from the files of a model that is read. They are no fault,
/// because one run file may serve for such a model and for one that is made.
void tell_other_shapes(const RunConfig& config);

}  // namespace rollcall::run
