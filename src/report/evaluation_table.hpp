// One evaluation as a table for people.
#pragma once

#include "report/evaluation.hpp"

#include <string>

namespace rollcall::report {

/// Levels, and all with intervals. `data`: file and number of its rows that were asked; empty: made
/// questions.
std::string to_table(const Evaluation& only, const std::string& data);

}  // namespace rollcall::report
