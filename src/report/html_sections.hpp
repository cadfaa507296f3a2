// The sections of report.html. Each is a function of the input, and empty if the run has nothing to
// show there.
#pragma once

#include "report/html_report.hpp"

#include <string>

namespace rollcall::report {

std::string tiles(const ReportInput& input);      ///< the run in a few large numbers
std::string diagnoses(const ReportInput& input);  ///< an explanation of the last steps in plain
                                                  ///< words
std::string learning_charts(const ReportInput& input);  ///< reward, pass rates, entropy, supervised
                                                        ///< loss
std::string level_results(const ReportInput& input);    ///< pass@1 and pass@k per level, before and
                                                        ///< after, as bars and as a table
std::string budget_charts(const ReportInput& input);    ///< shares of the rollout budget over time
std::string bin_charts(const ReportInput& input);       ///< the scheduler's estimates and decisions
                                                        ///< about its difficulty bins, over time
std::string health_charts(const ReportInput& input);    ///< ratio extremes, gradient norm
std::string moving_charts(const ReportInput& input);    ///< coefficients, shares and budgets that a
                                                        ///< recipe changes by a schedule or a
                                                        ///< controller
std::string time_charts(const ReportInput& input);  ///< seconds per stage, over time and in total
std::string exhibits(const ReportInput& input);     ///< some groups in full
std::string facts(const ReportInput& input);        ///< folder, data, model and state
std::string settings(const ReportInput& input);     ///< settings that differ from their defaults

}  // namespace rollcall::report
