// Explains the numbers of a run in plain words, by a table of rules over the last steps, each with
// a threshold and advice. DIAGNOSES.md lists them.
#pragma once

#include "core/run_config.hpp"
#include "report/metrics.hpp"

#include <map>
#include <string>
#include <vector>

namespace rollcall::report {

/// A warning asks for a change. A note says that something which looks wrong is expected.
enum class DiagnosisKind : std::uint8_t { warning, note };

struct Diagnosis {
  std::string name;  ///< name of the rule in the table
  DiagnosisKind kind = DiagnosisKind::warning;
  std::string what, advice;  ///< one sentence each; `what` includes the figures that were seen
  std::string text() const { return what + "; " + advice + " [" + name + "]"; }
};

constexpr std::size_t kMostDiagnoses = 3;

/// Rows of the phase "train" at which the rules look: the first steps of a run, and the last ones.
class RecentSteps {
 public:
  static constexpr std::size_t kFirst = 10, kLast = 40;
  void add(const MetricRow& row);  ///< ignores rows of other phases
  const std::vector<MetricRow>& first() const { return first_; }
  const std::vector<MetricRow>& last() const { return last_; }  ///< ascending

 private:
  std::vector<MetricRow> first_, last_;
};

/// The diagnoses that apply now: warnings first, each kind in table order, at most kMostDiagnoses.
/// A rule says nothing if the rows lack its metrics.
std::vector<Diagnosis> diagnose(const RecentSteps& steps, const RunConfig& config);

/// Selects the warnings to log: each when it begins to apply, and again every kAgain steps for as
/// long as it applies without a break.
class DiagnosisLog {
 public:
  static constexpr std::uint64_t kAgain = 100;
  std::vector<Diagnosis> due(std::uint64_t step, const std::vector<Diagnosis>& holding);

 private:
  std::map<std::string, std::uint64_t> logged_at_;  // step of its last log line, by diagnosis
};

/// The table of diagnoses as Markdown, for DIAGNOSES.md.
std::string diagnoses_table();

}  // namespace rollcall::report
