// rollcall schedule: runs a scheduler as a filter, with one JSON object per step on standard input
// and output.
#include "app/commands.hpp"
#include "app/tables/scheduler_settings.hpp"
#include "base/errors/log.hpp"
#include "base/files/file.hpp"
#include "base/files/lines.hpp"
#include "scheduling/trace/trace.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>

namespace rollcall::app {
namespace {

struct Flags {
  std::string policy;
  std::vector<std::string> assignments;
  std::uint64_t prompts = 0;
};

scheduling::Trace make_trace(const Flags& flags) {
  PolicySettings settings{.choice = {.row = flags.policy}};
  for (const auto& assignment : flags.assignments) settings.set(assignment);
  return {settings.choice, settings.knobs, settings.seed.value_or(1),
          flags.prompts > 0 ? std::optional(flags.prompts) : std::nullopt, settings.hears_shaped};
}

ExitCode run(const Flags& flags) {
  start_log("warn", 0, 1);  // on standard error, because standard output has the decisions
  auto trace = make_trace(flags);
  for (const auto& warning : trace.warnings()) log_warning("{}: {}", flags.policy, warning);
  std::string line;
  for (std::size_t number = 1; next_line(std::cin, line); ++number) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    // so that a user at the other end of a pipe gets the decision now
    std::cout << trace.step(line, number) << '\n' << std::flush;
    require<StorageError>(bool(std::cout), "the decision cannot be written",
                          "its reader would miss it", "keep the reading end open");
  }
  require_end_of_input();
  return ExitCode::done;
}

constexpr const char* kFooter =
    R"(A line is a step. It holds "prompts" (ids of the candidates), "budget" (rollouts), "select" (how many prompts), and optionally
"min_rollouts" (1), "max_rollouts" (the budget), "step" (its number among the steps), "progress" (0), "levels", "priors" and "domains" (one for each of
"prompts", on the first line), and results: a list of objects with "prompt", "rewards" (the verifier's) and optionally "shaped" (what the recipe makes of
them before it normalises: what the policy hears, but with --set hears=verifier), "correct" (reward > 0.5), "lengths", "loss", "mean_abs_advantage", "drift",
"diversity", "predicted". A policy that cannot do without "priors", "domains", "diversity" or "predicted" is refused where they are missing.
  "returned"  the results of the previous decision, learned before this line's step is decided: a trainer needs one line a step
  "report"    the results of this step, learned after its decision, whatever was decided: to replay a log
The answer holds "selected", "counts", "bins" (-1: the policy has none), "weights", "probabilities" where the policy states them, and "state_sha256" of the
state after the latest step that has ended: this one with "report", else the one before.
A policy of several rounds answers "more": true. A line of {"returned": [...]} alone then gets the next round: what to draw in addition, and "more" again
if that is not the last. Without "more" such a line ends the step. Where "returned" ends a step, the answer's "train" says how each of its groups trains:
"prompt", "weight" (of its advantages) and "keep" (1 or 0 for each rollout, in the order returned) unless all its rollouts train. Results may be listed in
any order; what was drawn and is not returned counts as drawn.
The next step's line also ends a step, with or without its remaining rounds; a step whose results never came back is learned as one without results.
The policy's table of prompts is 0 .. N-1 with --prompts N, else the candidates of the first line in ascending order of their ids.)";

}  // namespace

void add_schedule(Command program) {
  auto flags = std::make_shared<Flags>();
  auto command = program.command(
      "schedule",
      "a scheduling policy as a filter: steps in, decisions out, one JSON object a line");
  command.option("policy", flags->policy, "row of the table; rollcall schedulers lists them")
      .required();
  command
      .option(
          "--set", flags->assignments,
          "knob=value of the policy; sampler=, allocator=, rounds=, selection= (pieces), seed=, "
          "hears=; may be repeated")
      .repeated();
  command
      .option("--prompts", flags->prompts,
              "the prompts are 0 .. N-1; default: the first line's candidates")
      .range(std::uint64_t{1}, std::uint64_t{0xFFFFFFFF});
  command.footer(kFooter);
  command.runs([flags] { return run(*flags); });
}

}  // namespace rollcall::app
