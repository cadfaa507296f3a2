// report.html: one self-contained page with SVG charts and tables of a run.
#pragma once

#include "report/diagnoses.hpp"
#include "report/evaluation.hpp"
#include "report/metrics.hpp"

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace rollcall::report {

/// One group in full: prompt, answer, and every response with its reward.
struct GroupExhibit {
  std::string prompt, answer;
  std::vector<std::pair<std::string, double>> responses;
};

struct ReportInput {
  std::string title, run_id, policy_sha256;
  /// Facts about the run, shown at the head of the page.
  std::vector<std::pair<std::string, std::string>> facts;
  /// Settings that differ from their defaults, shown at the end of the page.
  std::vector<std::pair<std::string, std::string>> settings;
  std::vector<MetricRow> metrics;
  std::map<std::string, Evaluation> evaluations;  ///< "before" and "after" training; either may be
                                                  ///< missing
  std::map<std::string, Interval> gains;  ///< "pass@1", "pass@8": after minus before, on the same
                                          ///< prompts
  std::vector<std::pair<std::string, double>> stage_seconds;  ///< total for the run, by stage
  std::map<std::int32_t, std::int64_t> rollouts_per_level;
  std::vector<GroupExhibit> groups;
  std::vector<Diagnosis> diagnoses;  ///< diagnoses of the last steps
};

/// The page: reward, pass@k per level before and after, rollout budget per level, seconds per
/// stage, entropy, extremes of the ratio, and more.
std::string html_report(const ReportInput& input);

}  // namespace rollcall::report
