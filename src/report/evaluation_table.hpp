// One evaluation as a table for people.
#pragma once

#include "report/evaluation.hpp"

#include <string>

namespace rollcall::report {

/// The results for each level, and for all prompts with intervals. `data` names the file and the
/// number of its rows that were asked. It is empty for generated questions.
std::string to_table(const Evaluation& only, const std::string& data);

}  // namespace rollcall::report
