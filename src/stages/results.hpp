// What a run leaves for people: result.json, report.html, the table on standard output, and status.json while it runs.
#pragma once

#include "report/diagnoses.hpp"
#include "stages/coordinator_state.hpp"
#include "stages/job.hpp"
#include "stages/messages.hpp"

#include <string>
#include <vector>

namespace rollcall::stages {

/// Writes RUN/result.json and RUN/report.html and prints the table with the paths. Pure in what it reports: everything comes from state and files.
void write_results(const Job& job, const CoordinatorState& state, const std::string& policy_sha256, const std::string& checkpoint);

/// RUN/status.json, replaced whole.
void write_status_file(const Job& job, const CoordinatorState& state, const std::vector<report::Diagnosis>& diagnoses, const std::vector<SlowVerdict>& slowest,
                       const std::string& phase);

}  // namespace rollcall::stages
