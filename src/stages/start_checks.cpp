// Numbers of the run file beside numbers of the job.
#include "stages/start_checks.hpp"

#include "base/error.hpp"

#include <fmt/format.h>

namespace rollcall::stages {

void check_splits(const Job& job, JobKind kind) {
  const EvalSection& eval = job.config.eval;
  require<ConfigError>(
      eval.every == 0 || !job.prompts.validation.empty(),
      fmt::format("eval.every is {}, and there is no validation prompt (task.validation_prompts is {})", eval.every, job.config.task.validation_prompts),
      "every validation would be of nothing", "set task.validation_prompts, or eval.every=0");
  const bool evaluates = kind == JobKind::eval || eval.after || (eval.before && job.config.train.steps > 0);
  require<ConfigError>(!evaluates || !job.prompts.heldout.empty(),
                       fmt::format("there is no held-out prompt{}", job.config.task.file.empty() ? "" : fmt::format(" in {}", job.config.task.file)),
                       "what the policy can do is measured on prompts that it is not trained on",
                       "use more rows, name a file of them in task.heldout_file, or set eval.before=false and eval.after=false");
}

std::vector<std::string> costly_settings(const Job& job, int cores) {
  const RunConfig& c = job.config;
  std::vector<std::string> all;
  if (c.run.threads > cores)
    all.push_back(
        fmt::format("run.threads is {}, and a rank may use {} cores here: threads that wait for a core make every step slower; leave it out, or ask for "
                    "more cores a rank",
                    c.run.threads, cores));
  const auto prompts = std::int64_t(job.prompts.train.size());
  if (!c.train.from_archive.empty() || c.train.steps == 0) return all;
  if (c.train.prompts_per_step > prompts)
    all.push_back(
        fmt::format("train.prompts_per_step is {}, and there are {} training prompts: a step asks prompts {:.1f} times on average, which costs as much "
                    "as other prompts and tells less; lower it, or raise train.rollouts_per_prompt instead",
                    c.train.prompts_per_step, prompts, double(c.train.prompts_per_step) / double(std::max<std::int64_t>(prompts, 1))));
  const auto generators = std::int64_t(job.layout.of(comm::Stage::generation).size());
  if (generators > c.train.prompts_per_step)
    all.push_back(
        fmt::format("{} ranks generate, and a step has {} prompts ({} rollouts), whose groups are never cut: {} ranks wait in every round; use fewer, or "
                    "raise train.prompts_per_step",
                    generators, c.train.prompts_per_step, c.train.prompts_per_step * c.train.rollouts_per_prompt, generators - c.train.prompts_per_step));
  return all;
}

}  // namespace rollcall::stages
