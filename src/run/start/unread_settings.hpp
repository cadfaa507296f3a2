// Settings that nothing of the run would read.
#pragma once

#include "core/run_config.hpp"
#include "method/method.hpp"

namespace rollcall::run {

/// Settings that differ from their default although what reads them is not part of the run: a
/// reference, a teacher, a value head or probes that the objective does not ask for, a judge
/// without a
/// model, a warm start without steps, what only another task reads. A run that differs in one alone
/// would train the same. `objective`: none where its settings are wrong.
void check_unread_settings(const RunConfig& config, const method::Objective* objective,
                           Faults& faults);

/// A model that is read has the shape of its own files. A run file may serve for it and for one
/// that
/// is made, so a key that says otherwise is told and not refused.
void tell_other_shapes(const RunConfig& config);

}  // namespace rollcall::run
