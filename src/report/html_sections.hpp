// The parts of report.html. Each is a function of the input and empty when its part of the run left
// nothing to show.
#pragma once

#include "report/html_report.hpp"

#include <string>

namespace rollcall::report {

std::string tiles(const ReportInput& input);            ///< the run in a few large numbers
std::string diagnoses(const ReportInput& input);        ///< what the last steps say in plain words
std::string learning_charts(const ReportInput& input);  ///< reward, pass rates, entropy, supervised
                                                        ///< loss
std::string level_results(const ReportInput& input);    ///< pass@1 and pass@k per level, before and
                                                        ///< after, as bars and as a table
std::string budget_charts(const ReportInput& input);    ///< shares of the rollout budget over time
std::string bin_charts(const ReportInput& input);  ///< what the scheduler knows and decides of its
                                                   ///< difficulty bins over time
std::string health_charts(const ReportInput& input);  ///< ratio extremes, gradient norm
std::string moving_charts(const ReportInput& input);  ///< coefficients, shares and budgets that a
                                                      ///< recipe moves by schedule or control
std::string time_charts(const ReportInput& input);    ///< seconds per stage over time and in all
std::string exhibits(const ReportInput& input);       ///< groups in full
std::string facts(const ReportInput& input);          ///< folder, data, model, state
std::string settings(const ReportInput& input);       ///< keys that are no defaults

}  // namespace rollcall::report
