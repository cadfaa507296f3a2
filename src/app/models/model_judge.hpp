// A model that judges because the command line says so, of `rollcall score` and `rollcall archive
// rescore`: --judge RUNFILE and --set.
#pragma once

#include "app/command_line.hpp"
#include "core/run_config.hpp"
#include "run/judge/judge_model.hpp"

#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace rollcall::app {

struct JudgeFlags {
  std::string file;                      ///< a run file; empty: no model judges
  std::vector<std::string> assignments;  ///< over its settings
  std::size_t threads = std::max(1U, std::thread::hardware_concurrency());
};

/// Returns --judge, for options that exclude it.
Option add_judge_options(Command command, JudgeFlags& flags);

class ModelJudge {
 public:
  /// Throws ConfigError where the run file names no model, and as JudgeModel does.
  explicit ModelJudge(const JudgeFlags& flags) : ModelJudge(flags, load(flags)) {}
  const JudgeSection& section() const { return section_; }
  const run::JudgeModel& model() const { return model_; }
  std::vector<run::Judgement> judge(std::span<const std::vector<std::int32_t>> questions) const;
  /// Whether a judge accepts the answer: above the middle of its scale. None where it is undecided,
  /// and of a reward model, whose score is no verdict.
  std::optional<bool> accepts(const run::Judgement& judgement) const;

 private:
  ModelJudge(const JudgeFlags& flags, const RunConfig& config);
  static RunConfig load(const JudgeFlags& flags);

  JudgeSection section_;
  int threads_;
  run::JudgeModel model_;
};

}  // namespace rollcall::app
