// Numbers of the run file beside numbers of the job.
#include "stages/start_checks.hpp"

#include "base/error.hpp"
#include "base/faults.hpp"
#include "kernels/kernel_set.hpp"
#include "stages/guide.hpp"
#include "stages/heard_rewards.hpp"
#include "stages/recipe_needs.hpp"
#include "stages/recorded_settings.hpp"
#include "stages/replay_buffer.hpp"
#include "stages/self_judging.hpp"
#include "stages/unread_settings.hpp"

#include <fmt/format.h>

#include <functional>

namespace rollcall::stages {
namespace {

/// The scheduler as its knobs make it. What it wants and hears does not depend on the prompts.
std::unique_ptr<const scheduling::Policy> policy_without_prompts(const RunConfig& config) {
  const SchedulerSection& s = config.scheduler;
  return scheduling::make_policy({s.policy, s.sampler, s.allocator, s.rounds, s.selection}, s.knobs, scheduling::PromptTable{.level = {0}},
                                 std::uint64_t(config.run.seed));
}

bool runs_on_device(const RunConfig& config) { return config.run.numerics == kernels::kCudaBf16Sliced8; }

/// Device kernels have no softmax over some tokens alone.
void check_truncation(const RunConfig& config) {
  require<ConfigError>(!renormalises(config.sampling) || !runs_on_device(config),
                       fmt::format("sampling.logprob is \"kept\" and run.numerics {}", config.run.numerics),
                       "on CUDA devices log-probs are those of the softmax over all tokens", "leave sampling.logprob out, or choose numerics of the host");
}

}  // namespace

std::string truncation_told(const RunConfig& config) {
  const SamplingParams& s = config.sampling;
  const bool draws = config.train.steps > 0 && config.train.from_archive.empty();
  if (!draws || !truncates(s) || renormalises(s)) return {};
  const std::string cut = s.top_k == 0  ? fmt::format("sampling.top_p is {}", s.top_p)
                          : s.top_p < 1 ? fmt::format("sampling.top_k is {} and sampling.top_p {}", s.top_k, s.top_p)
                                        : fmt::format("sampling.top_k is {}", s.top_k);
  return fmt::format(
      "{}: tokens are drawn from those that this keeps, and trained with log-probs of the softmax over all tokens, so that the gradient is not that "
      "of the distribution that draws; {}",
      cut,
      runs_on_device(config) ? "sampling.logprob = \"kept\" would correct that, in numerics of the host"
                             : "rollout/kept_mass_mean says how much is kept, and sampling.logprob = \"kept\" trains on what is drawn from");
}

std::unique_ptr<const method::Method> check_start(const RunConfig& config, JobKind kind) {
  std::vector<std::string> faults;
  const auto check = [&](const std::function<void()>& part) { collect(faults, part); };
  std::unique_ptr<const method::Method> objective;
  std::unique_ptr<const scheduling::Policy> policy;
  check([&] { check_guide(config); });
  check([&] { check_truncation(config); });
  check([&] { (void)reward::chosen_verifier(config.reward, task::find_task(config.task.name).verifier); });
  check([&] { objective = method::make_method(config.objective.recipe, config.objective.pieces, config.objective.knobs); });
  check([&] { policy = policy_without_prompts(config); });
  if (faults.empty()) {
    if (kind != JobKind::eval && !holds_run(config.run.dir)) {
      check([&] { check_unread_settings(config, *objective); });
      check([&] { check_recipe_needs(config); });
      check([&] { check_policy_needs(config, *policy); });
      check([&] { check_hears(config, *objective, *policy); });
      check([&] { check_control(config, *objective); });
    }
    check([&] { check_replay(config, *objective); });
    check([&] { check_self_judging(config, *objective); });
  }
  require_no_faults(faults);
  return objective;
}

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
