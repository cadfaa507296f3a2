// Reads the data that report.html shows from a run folder. Its run may be done, stopped, failed or
// still running.
#pragma once

#include "base/text/json.hpp"
#include "report/html_report.hpp"
#include "run/checkpoint/coordinator_state.hpp"

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace rollcall::run {

/// The evaluations before and after training that the state has.
std::map<std::string, report::Evaluation> evaluations_of(const RunConfig& config,
                                                         const CoordinatorState& state);

/// Gains, after minus before on the same prompts: "pass@1", "pass@8". Empty where one of the two
/// evaluations is missing.
std::map<std::string, report::Interval> gains_of(const RunConfig& config,
                                                 const CoordinatorState& state);

/// Facts from result.json that are known only at the end of a run: why it ended early, if it did,
/// parameters, layout and version. Facts that the file lacks are left out.
std::vector<std::pair<std::string, std::string>> facts_of(const nlohmann::json& result);

/// The content of the page, from the settings, the state, metrics.jsonl and the archive. `phase`:
/// what the run is doing or how it ended.
report::ReportInput read_report(const std::filesystem::path& run_dir, const RunConfig& config,
                                const CoordinatorState& state, const std::string& phase);

}  // namespace rollcall::run
