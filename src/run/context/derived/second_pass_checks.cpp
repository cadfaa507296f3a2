// Each check names the keys that it reads, so that all faults of a run file are reported at once.
#include "run/context/derived/second_pass_checks.hpp"

#include "method/columns.hpp"
#include "run/context/derived/exhibits.hpp"
#include "run/context/step_bounds.hpp"
#include "task/task.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>

namespace rollcall::run {
namespace {

namespace column = method::column;

/// The columns that the objective would read about a prompt's past or its greedy answer.
constexpr const char* kOfThePrompt[] = {column::prior,         column::posterior,
                                        column::predicted,     column::prompt_best_length,
                                        column::greedy_reward, column::probe_confidence,
                                        column::gold_logprob,  column::gold_logprob_before};

void check_columns(const RunConfig& c, const method::Objective& objective, const std::string& on,
                   Faults& faults) {
  for (const auto& name : objective.columns())
    faults.need({"second_pass.kind", "second_pass.buffer", "objective."},
                std::none_of(std::begin(kOfThePrompt), std::end(kOfThePrompt),
                             [&](const char* wanted) { return name == wanted; }),
                fmt::format("objective.recipe {} reads {}, and {}", c.objective.recipe, name, on),
                "it is known of prompts of the task, and a prompt made of an answer is asked once",
                "choose another recipe, or leave [second_pass] out");
}

void check_trained_on(const RunConfig& c, Faults& faults) {
  const SecondPassSection& s = c.second_pass;
  if (s.kind.empty() || s.trained_on != "parent") return;
  faults.need({"second_pass.trained_on", "second_pass.placement"}, s.placement != "own_group",
              "second_pass.trained_on is parent, and second_pass.placement is own_group",
              "only rollouts that train in their parent's group can be shown behind its prompt",
              "set second_pass.placement = \"joins_parent\", or leave second_pass.trained_on out");
  faults.need({"second_pass.trained_on", "sampling.logprob"}, !renormalises(c.sampling),
              "second_pass.trained_on is parent, and sampling.logprob is kept",
              "which tokens sampling keeps behind the parent's prompt is not known",
              "set sampling.logprob = \"full\", or leave second_pass.trained_on out");
}

}  // namespace

void check_second_pass(const RunConfig& c, const method::Objective& objective, Faults& faults) {
  const SecondPassSection& s = c.second_pass;
  if (!shows_exhibits(c)) return;
  const std::string by_kind = fmt::format("second_pass.kind is {}", s.kind),
                    by_buffer = fmt::format("second_pass.buffer is {}", s.buffer),
                    on = s.kind.empty() ? by_buffer : by_kind;
  faults.need({"second_pass.kind"}, s.kind != "counterpart", by_kind,
              "this version of Rollcall does not sample that kind yet, so nothing would be asked "
              "again",
              "choose refinement, error or pool, or leave second_pass.kind out");
  check_columns(c, objective, on, faults);
  check_trained_on(c, faults);
  const auto apart = [&](bool fits, const std::string& what, const char* key, const char* other,
                         const char* why) {
    faults.need({key, "second_pass.kind", "second_pass.buffer"}, fits,
                fmt::format("{}, and {}", what, other), why, "leave one of them out");
  };
  const bool asks = s.kind == "refinement" || s.kind == "error", goes_on = s.buffer > 0.0;
  apart(
      c.task.forms.empty() || !(asks || goes_on), asks ? by_kind : by_buffer, "task.forms",
      "task.forms is set",
      "prompts made of answers are not asked in a form, and their answers would be judged in one");
  apart(s.kind != "error" || c.guide.share == 0.0, by_kind, "guide.share", "guide.share is above 0",
        "an answer would begin twice, as the guide says and as the mended one does");
  apart(s.kind != "pool" || c.guide.share == 0.0, by_kind, "guide.share", "guide.share is above 0",
        "the guide would begin the answers of a pool otherwise than those that are drawn again");
  faults.check({"second_pass.kind", "scheduler.policy", "scheduler."}, [&] {
    require<ConfigError>(
        s.kind != "pool" || policy_without_prompts(c)->traits().tiers == 0,
        fmt::format("{}, and the scheduler asks prompts again with help", by_kind),
        "the pool of a prompt with help would be asked without it",
        "choose another scheduler.policy (or scheduler.rounds), or leave second_pass.kind out");
  });
  faults.check({"second_pass.kind", "environment.name", "environment.command", "task.name"}, [&] {
    require<ConfigError>(
        s.kind != "error" || !task::has_environment(c),
        fmt::format("{}, and the policy talks with an environment", by_kind),
        "a mended line of a later turn would stand in the first one",
        "choose refinement, leave second_pass.kind out, or choose a task without an environment");
  });
  apart(!goes_on || c.reward.command.empty(), by_buffer, "reward.command", "reward.command is set",
        "the row of a task's file is not kept with an answer of an earlier step");
}

}  // namespace rollcall::run
