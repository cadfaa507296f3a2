// report.html of a run folder as it is at the moment: of a run that is done, that stopped or
// failed, or that still runs.
#pragma once

#include "base/json.hpp"
#include "report/html_report.hpp"
#include "run/checkpoint/coordinator_state.hpp"

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace rollcall::run {

/// Evaluations before and after training, as far as the state has them.
std::map<std::string, report::Evaluation> evaluations_of(const RunConfig& config,
                                                         const CoordinatorState& state);

/// After minus before on the same prompts: "pass@1", "pass@8". Empty where one of the two is
/// missing.
std::map<std::string, report::Interval> gains_of(const RunConfig& config,
                                                 const CoordinatorState& state);

/// Facts that only the end of a run knows, of its result.json: parameters, layout and version;
/// those
/// of them that an earlier build wrote.
std::vector<std::pair<std::string, std::string>> facts_of(const nlohmann::json& result);

/// What the page shows: from the settings, the state, metrics.jsonl and the archive. `phase`: what
/// the run is doing or how it ended.
report::ReportInput read_report(const std::filesystem::path& run_dir, const RunConfig& config,
                                const CoordinatorState& state, const std::string& phase);

}  // namespace rollcall::run
