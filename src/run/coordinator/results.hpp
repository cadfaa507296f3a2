// What a run leaves for people: result.json, report.html, the table on standard output, and
// status.json while it runs.
#pragma once

#include "report/diagnoses.hpp"
#include "report/evaluation.hpp"
#include "run/checkpoint/coordinator_state.hpp"
#include "run/context/run_context.hpp"
#include "run/messages/messages.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace rollcall::run {

/// Verdicts of this start, evaluations included, and those of them that nobody could give.
struct VerdictTally {
  std::uint64_t verdicts = 0, undecided = 0;
  std::string reason{};  ///< of the first undecided one
  std::vector<SlowVerdict> slowest{};
};
void add(VerdictTally& tally, const VerdictFacts& facts);
/// "37 of 4096 verdicts since the last start; the first: the command died: ...", with the place in
/// the grader
/// where its last traceback ended, if RUN/verifier holds one; empty where all are decided.
std::string undecided_text(const std::filesystem::path& run_dir, std::uint64_t undecided,
                           std::uint64_t verdicts, const std::string& reason);

/// Writes RUN/result.json and RUN/report.html and prints the table with the paths. Pure in what it
/// reports: everything comes from state, files and tally.
/// `missing`: rollouts of earlier starts that were gone at this one.
void write_results(const RunContext& context, const CoordinatorState& state,
                   const VerdictTally& tally, const std::string& policy_sha256,
                   const std::string& checkpoint, std::uint64_t missing);

/// RUN/eval.json; on standard output the table, the paths, and as the last line the JSON.
void write_evaluation(const RunContext& context, const report::Evaluation& evaluation);

/// RUN/status.json, replaced whole.
void write_status_file(const RunContext& context, const CoordinatorState& state,
                       const std::vector<report::Diagnosis>& diagnoses, const VerdictTally& tally,
                       const std::string& phase);

}  // namespace rollcall::run
