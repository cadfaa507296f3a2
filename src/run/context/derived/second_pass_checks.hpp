// Settings of [second_pass] that do not fit the recipe or other sections.
#pragma once

#include "base/errors/faults.hpp"
#include "core/run_config.hpp"
#include "method/method.hpp"

namespace rollcall::run {

/// Reports what a second pass, or the buffer of histories, cannot be combined with.
void check_second_pass(const RunConfig& config, const method::Objective& objective, Faults& faults);

}  // namespace rollcall::run
