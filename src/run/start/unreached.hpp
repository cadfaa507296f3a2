// Finds parts of an objective that a run never reaches, because they do not act on prompts, groups,
// answers or references like those of the run.
#pragma once

#include "base/errors/faults.hpp"
#include "core/run_config.hpp"
#include "method/method.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace rollcall::run {

/// Whether the run file names a piece that its recipe does not have. `family_piece`: such as
/// "weight tis".
bool names_piece(const RunConfig& config, std::string_view family_piece);

/// Adds a fault for each piece that the run file names in addition to the recipe's own and that
/// cannot act in this run, and for each of its settings.
void check_unreached(const RunConfig& config, const method::Objective& objective, Faults& faults);

/// One sentence for each part of the recipe itself that the run never reaches. None of them is a
/// fault.
std::vector<std::string> unreached_told(const RunConfig& config,
                                        const method::Objective& objective);

}  // namespace rollcall::run
