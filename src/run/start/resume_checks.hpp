// What a resume may not change, looked at before the data are read and a grader is started.
#pragma once

#include "base/errors/faults.hpp"
#include "core/run_config.hpp"

namespace rollcall::run {

/// Gives settings that a run file leaves open the values of the first start (as_begun()), and adds
/// to `faults` that the run in run.dir, which must hold one, has done more steps than train.steps,
/// or was started with other settings. Settings that a start takes from rows and model files are
/// compared again when those have been read. Throws StorageError.
void take_recorded(RunConfig& config, Faults& faults);

}  // namespace rollcall::run
