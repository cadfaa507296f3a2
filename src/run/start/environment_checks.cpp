// Each check names the settings that it reads.
#include "run/start/environment_checks.hpp"

#include "base/errors/error.hpp"
#include "environment/chosen.hpp"
#include "environment/environments.hpp"
#include "environment/expert_way.hpp"
#include "environment/worlds/world.hpp"
#include "method/columns.hpp"
#include "reward/verifier.hpp"
#include "scheduling/schedulers.hpp"
#include "task/task.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

namespace rollcall::run {
namespace {

namespace column = method::column;

/// A check finds the name unknown before.
void check_name(const RunConfig& c) {
  const std::string name = task::built_in_environment(c);
  if (name.empty() || name == environment::kToolsName) return;
  if (const char* task = environment::find_environment(name).task) environment::need_task(c, task);
}

/// The verifier to which every conversation is wrong that no environment has decided.
void check_episode(const RunConfig& c) {
  if (!c.reward.command.empty() || task::has_environment(c)) return;
  const reward::Verifier& verifier =
      reward::chosen_verifier(c.reward, task::find_task(c.task.name).verifier);
  require<ConfigError>(verifier.name != std::string_view("episode"),
                       "reward.verifier is episode, and the run has no environment",
                       "the environment says what is correct, so that every answer would be wrong",
                       "set environment.name or environment.command, or leave reward.verifier out");
}

/// Whether the conversation ends with an answer to the task's prompt, as it would without an
/// environment.
bool ends_in_an_answer(const RunConfig& c) {
  const std::string name = task::built_in_environment(c);
  if (name.empty()) return false;
  return name == environment::kToolsName || environment::find_environment(name).task == nullptr;
}

/// Conversations can begin on an expert's way only if there is an expert.
void check_start_depth(const RunConfig& c) {
  const std::string& depth = c.environment.start_depth;
  require<ConfigError>(
      depth == "own" || environment::has_expert(c),
      fmt::format("environment.start_depth is {}, and the environment has no expert", depth),
      "conversations would begin behind actions that nobody knows",
      "leave it out, or choose a task whose prompts are played in an environment of its own");
}

/// A conversation that begins on the way shows the state there in place of the end of its prompt.
void check_help(const RunConfig& c) {
  const SchedulerSection& s = c.scheduler;
  const bool helps =
      c.hints.as == "prompt" &&
      scheduling::resolve({s.policy, s.sampler, s.allocator, s.rounds, s.selection}).rounds ==
          "hints";
  require<ConfigError>(
      !helps || c.environment.start_depth == "own",
      fmt::format("environment.start_depth is {}, and the scheduler asks again with help in the "
                  "prompt",
                  c.environment.start_depth),
      "a state on the expert's way would be shown in place of the help",
      "set hints.as=beginning, or leave environment.start_depth out");
}

/// Parts of a run that make prompts or rollouts of single answers.
void check_single_answers(const RunConfig& c, const method::Objective* objective, Faults& faults) {
  const std::string with =
      fmt::format("the policy talks with {}", c.environment.command.empty()
                                                  ? task::built_in_environment(c)
                                                  : std::string("environment.command"));
  const auto need = [&](std::string_view key, bool fits, const std::string& set, const char* why) {
    faults.need({key, "environment.name", "environment.command", "task.name"}, fits,
                fmt::format("{}, and {}", set, with), why,
                "leave one of them out, or choose another task");
  };
  need("self_judging.share", c.self_judging.share == 0.0,
       fmt::format("self_judging.share is {}", c.self_judging.share),
       "a question about an answer would be asked of the environment, which does not know it");
  const std::string& kind = c.second_pass.kind;
  need("second_pass.kind", kind != "refinement" && kind != "error",
       fmt::format("second_pass.kind is {}", kind),
       "it shows one answer, and what the environment said before it would be missing");
  need("second_pass.buffer", c.second_pass.buffer == 0.0,
       fmt::format("second_pass.buffer is {}", c.second_pass.buffer),
       "it shows one answer, and what the environment said before it would be missing");
  if (!ends_in_an_answer(c)) {
    need("experts.share", c.experts.share == 0.0,
         fmt::format("experts.share is {}", c.experts.share),
         "a worked solution is one turn, which no environment has played or paid");
    need("task.forms", c.task.forms.empty(), "task.forms is set",
         "the environment reads what the policy says as it is, not the answer in a form");
  }
  if (objective == nullptr) return;
  const auto columns = objective->columns();
  const bool probes = std::any_of(columns.begin(), columns.end(), [](const std::string& own) {
    return own == column::reasoning_step || own == column::probe_accuracy ||
           own == column::probe_confidence;
  });
  need("objective.recipe", !probes,
       fmt::format("objective.recipe {} probes the steps of an answer", c.objective.recipe),
       "a probe behind a turn would read what the environment said as the policy's reasoning");
}

}  // namespace

void check_environment(const RunConfig& c, const method::Objective* objective, Faults& faults) {
  if (!faults.are_sound({"task.name"})) return;
  faults.check({"environment.tools", "environment.name"},
               [&] { (void)environment::tool_schemas(c); });
  faults.check({"environment.name", "task.name"}, [&] { check_name(c); });
  faults.check({"reward.verifier", "task.name", "environment.name", "environment.command"},
               [&] { check_episode(c); });
  if (faults.are_sound({"environment.name"}))
    faults.check(
        {"environment.start_depth", "environment.name", "environment.command", "task.name"},
        [&] { check_start_depth(c); });
  faults.check({"environment.start_depth", "hints.as", "scheduler."}, [&] { check_help(c); });
  if (faults.are_sound({"environment.name"}) && task::has_environment(c))
    check_single_answers(c, objective, faults);
}

}  // namespace rollcall::run
