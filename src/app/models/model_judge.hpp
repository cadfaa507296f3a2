// A judge model that is named on the command line, by --judge RUNFILE and --set, for `rollcall
// score` and `rollcall archive rescore`.
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
  std::string file;                      ///< a run file; empty if no model judges
  std::vector<std::string> assignments;  ///< settings key=value that override the file's settings
  std::size_t threads = std::max(1U, std::thread::hardware_concurrency());
};

/// Adds the options. Returns --judge, for options that exclude it.
Option add_judge_options(Command command, JudgeFlags& flags);

class ModelJudge {
 public:
  /// Throws ConfigError if the run file names no judge model, and the exceptions of JudgeModel.
  explicit ModelJudge(const JudgeFlags& flags) : ModelJudge(flags, load(flags)) {}
  const JudgeSection& section() const { return section_; }
  const run::JudgeModel& model() const { return model_; }
  std::vector<run::Judgement> judge(std::span<const std::vector<std::int32_t>> questions) const;
  /// Whether a judge accepts the answer: its verdict is above the middle of its scale. No value if
  /// it is undecided, or if a reward model judges, whose score is not a verdict.
  std::optional<bool> accepts(const run::Judgement& judgement) const;

 private:
  ModelJudge(const JudgeFlags& flags, const RunConfig& config);
  static RunConfig load(const JudgeFlags& flags);

  JudgeSection section_;
  int threads_;
  run::JudgeModel model_;
};

}  // namespace rollcall::app
