// One run of a proof: its ranks, its layout, the times of its kills, the places where it is
// resumed, and the results that must be the same at its end.
#pragma once

#include "report/metrics.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace rollcall::app::prove {

struct Place {
  int ranks = 1;
  std::string layout;
};

struct Trial {
  Place begins;
  std::vector<double> kills{};   ///< seconds from each start of the run to its kill; the last start
                                 ///< is not killed
  std::vector<Place> resumes{};  ///< [kills] the place of the resume after each kill
};

/// The way in which runs are started, and their settings.
struct Starting {
  std::string launcher;  ///< for more than one rank; the number of ranks and the program follow it
  std::filesystem::path run_file;
  std::vector<std::string> assignments;  ///< settings of the short form and those of the user
  double longest_s = 600;                ///< a run that takes longer has failed [s]
};

struct Outcome {
  std::string policy, archive;  ///< SHA-256 of the policy, and of the content of the rollouts
  std::vector<report::MetricRow> metrics;
  double seconds = 0.0;
  int killed = 0;  ///< number of kills before the run had ended
};

/// Runs the trial in `folder`, which must not exist; the log is `folder`.log. Throws
/// EnvironmentError, with the end of the log, if a run fails.
Outcome run(const Trial& trial, const Starting& starting, const std::filesystem::path& folder);

/// The numbers of training steps with events that depend on the settings.
struct Moved {
  int steps = 0, weights = 0, rewards = 0, budgets = 0;
};
Moved moved_in(const std::vector<report::MetricRow>& metrics);

/// The first metric, times left out, in which two runs differ, such as "train step 3:
/// actor/grad_norm is 1.25 and 1.5"; empty if they are equal.
std::string first_difference(const std::vector<report::MetricRow>& a,
                             const std::vector<report::MetricRow>& b);

}  // namespace rollcall::app::prove
