// The options of --judge, and the model that they name.
#include "app/models/model_judge.hpp"

#include "base/errors/error.hpp"

#include <fmt/format.h>

namespace rollcall::app {

Option add_judge_options(Command command, JudgeFlags& flags) {
  auto judge = command.option("--judge", flags.file,
                              "run file whose [judge] names a model that judges instead");
  command.option("--set", flags.assignments, "key=value over that run file; may be repeated")
      .repeated()
      .needs(judge);
  command.option("--threads", flags.threads, "threads; the output is the same with any number")
      .range(1, 1024);
  return judge;
}

ModelJudge::ModelJudge(const JudgeFlags& flags, const RunConfig& config)
    : section_(config.judge),
      threads_(int(flags.threads)),
      model_(config.judge, config.run.numerics, std::uint64_t(config.run.seed),
             {.count = int(flags.threads)}) {}

RunConfig ModelJudge::load(const JudgeFlags& flags) {
  RunConfig config = load_run_config(flags.file, flags.assignments);
  require<ConfigError>(!config.judge.model.empty(),
                       fmt::format("judge.model of {} is empty", flags.file),
                       "it names the model that judges",
                       "set it to a model folder, there or with --set judge.model=FOLDER");
  require<ConfigError>(!compares(config.judge),
                       fmt::format("judge.prompt of {} has {{other}}", flags.file),
                       "one answer is judged at a time here, and there is no other to compare with",
                       "give a prompt without it, there or with --set judge.prompt=...");
  return config;
}

std::vector<run::Judgement> ModelJudge::judge(
    std::span<const std::vector<std::int32_t>> questions) const {
  return model_.judge(questions, {.decode = {.threads = threads_}});
}

std::optional<bool> ModelJudge::accepts(const run::Judgement& judgement) const {
  if (judgement.undecided || section_.kind != "judge") return std::nullopt;
  return judgement.value > 0.5;
}

}  // namespace rollcall::app
