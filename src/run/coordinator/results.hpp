// Writes what a run leaves for people: result.json, report.html, the table on standard output, and
// status.json while it runs.
#pragma once

#include "report/diagnoses.hpp"
#include "report/evaluation.hpp"
#include "run/checkpoint/coordinator_state.hpp"
#include "run/messages/messages.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace rollcall::run {

struct RunContext;

/// Counts of the verdicts of this start, with those of evaluations.
struct VerdictTally {
  std::uint64_t verdicts = 0, undecided = 0;
  std::string reason{};       ///< why the first undecided verdict is undecided
  std::uint64_t lost = 0;     ///< conversations that the environment lost
  std::string lost_reason{};  ///< why the first of them was lost, with its name
  std::vector<SlowVerdict> slowest{};
};
void add(VerdictTally& tally, const VerdictFacts& facts);
/// "37 of 4096 verdicts since the last start; the first: the command died: ...", with the place in
/// the grader at which its last traceback ended, if RUN/verifier has one; in the environment, if
/// all of them are conversations that were lost. Empty where all verdicts are decided.
std::string undecided_text(const std::filesystem::path& run_dir, std::uint64_t undecided,
                           std::uint64_t verdicts, const std::string& reason, std::uint64_t lost);
/// "3 conversations since the last start; the first: train/3/17/0/2: the process died: ...", with
/// the place at which the last traceback in RUN/environment ended, if there is one. Empty where
/// none is lost.
std::string lost_text(const std::filesystem::path& run_dir, std::uint64_t lost,
                      const std::string& reason);

/// Writes RUN/result.json and RUN/report.html and prints the table with the paths. All that it
/// reports comes from the state, the files and the tally. `missing`: rollouts of earlier starts
/// that were gone at this one.
void write_results(const RunContext& context, const CoordinatorState& state,
                   const VerdictTally& tally, const std::string& policy_sha256,
                   const std::string& checkpoint, std::uint64_t missing);

/// Writes RUN/eval.json, and to standard output the table, the paths, and as the last line the
/// JSON.
void write_evaluation(const RunContext& context, const report::Evaluation& evaluation);

/// Replaces RUN/status.json as a whole. `phase`: what the run is doing.
void write_status_file(const RunContext& context, const CoordinatorState& state,
                       const std::vector<report::Diagnosis>& diagnoses, const VerdictTally& tally,
                       const std::string& phase);

}  // namespace rollcall::run
