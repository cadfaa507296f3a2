// One run of a proof: on how many ranks, in which layout, killed when and resumed where; and what
// must be the same at its end.
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
  std::vector<double> kills{};   ///< seconds after each start; the last start is not killed
  std::vector<Place> resumes{};  ///< [kills]
};

/// How runs are started and what they train.
struct Starting {
  std::string launcher;  ///< to be followed by a number of ranks and the program; for more than one
                         ///< rank
  std::filesystem::path run_file;
  std::vector<std::string> assignments;  ///< of the short form and of the user
  double longest_s = 600;                ///< a run that takes longer has failed
};

struct Outcome {
  std::string policy, archive;  ///< SHA-256 of the policy, and of the rollouts' content
  std::vector<report::MetricRow> metrics;
  double seconds = 0.0;
  int killed = 0;  ///< kills that met a run before its end
};

/// In `folder`, which is not there yet; the log is `folder`.log. Throws EnvironmentError with the
/// log's end when a run fails.
Outcome run(const Trial& trial, const Starting& starting, const std::filesystem::path& folder);

/// Training steps in which something came about that other settings would have made otherwise.
struct Moved {
  int steps = 0, weights = 0, rewards = 0, budgets = 0;
};
Moved moved_in(const std::vector<report::MetricRow>& metrics);

/// The first metric in which two runs differ, times left out; empty: none. "train step 3:
/// actor/grad_norm is 1.25 and 1.5"
std::string first_difference(const std::vector<report::MetricRow>& a,
                             const std::vector<report::MetricRow>& b);

}  // namespace rollcall::app::prove
