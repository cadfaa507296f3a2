// What the numbers of a run say in plain words: a table of rules over the last steps, each with its
// threshold and what to do. DIAGNOSES.md lists them.
#pragma once

#include "core/run_config.hpp"
#include "report/metrics.hpp"

#include <map>
#include <string>
#include <vector>

namespace rollcall::report {

/// A note tells that something which looks wrong is expected; a warning asks for a change.
enum class DiagnosisKind : std::uint8_t { warning, note };

struct Diagnosis {
  std::string name;  ///< a row of the table
  DiagnosisKind kind = DiagnosisKind::warning;
  std::string what, advice;  ///< one sentence each, `what` with the figures seen
  std::string text() const { return what + "; " + advice + " [" + name + "]"; }
};

constexpr std::size_t kMostDiagnoses = 3;

/// The steps that rules look at, of one phase "train": its first ones, and its last.
class RecentSteps {
 public:
  static constexpr std::size_t kFirst = 10, kLast = 40;
  void add(const MetricRow& row);  ///< rows of other phases are passed over
  const std::vector<MetricRow>& first() const { return first_; }
  const std::vector<MetricRow>& last() const { return last_; }  ///< ascending

 private:
  std::vector<MetricRow> first_, last_;
};

/// What holds now, warnings first, each kind in the order of the table; at most kMostDiagnoses. A
/// rule whose metrics the rows lack is silent.
std::vector<Diagnosis> diagnose(const RecentSteps& steps, const RunConfig& config);

/// For a log: a warning when it begins to hold, and again after kAgain steps in which it did not
/// end.
class DiagnosisLog {
 public:
  static constexpr std::uint64_t kAgain = 100;
  std::vector<Diagnosis> due(std::uint64_t step, const std::vector<Diagnosis>& holding);

 private:
  std::map<std::string, std::uint64_t> told_;  // step
};

/// The table as DIAGNOSES.md has it.
std::string diagnoses_table();

}  // namespace rollcall::report
