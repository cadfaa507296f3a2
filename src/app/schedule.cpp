// rollcall schedule: a policy as a filter, one JSON object a step from standard input to standard output.
#include "app/commands.hpp"
#include "base/file.hpp"
#include "base/log.hpp"
#include "scheduling/trace.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>

namespace rollcall::app {
namespace {

struct Flags {
  scheduling::PolicyChoice choice;
  std::vector<std::string> assignments;
  std::uint64_t prompts = 0;
};

std::uint64_t seed_of(const std::string& text) {
  std::uint64_t seed = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
  require<ConfigError>(error == std::errc() && end == text.data() + text.size() && !text.empty(), fmt::format("--set seed={}", text),
                       "it addresses all random draws", "write an integer from 0 on");
  return seed;
}

scheduling::Trace make_trace(const Flags& flags) {
  scheduling::PolicyChoice choice = flags.choice;
  scheduling::Knobs knobs;
  std::uint64_t seed = 1;
  for (const auto& assignment : flags.assignments) {
    const auto equals = assignment.find('=');
    require<ConfigError>(equals != std::string::npos && equals > 0, fmt::format("--set {}", assignment), "a setting is a key and a value",
                         "write --set key=value");
    const std::string key = assignment.substr(0, equals), value = assignment.substr(equals + 1);
    if (key == "seed") seed = seed_of(value);
    else if (key == "sampler") choice.sampler = value;
    else if (key == "allocator") choice.allocator = value;
    else if (key == "rounds") choice.rounds = value;
    else if (key == "selection") choice.selection = value;
    else knobs.emplace_back(key, value);
  }
  return {choice, knobs, seed, flags.prompts > 0 ? std::optional(flags.prompts) : std::nullopt};
}

ExitCode run(const Flags& flags) {
  auto trace = make_trace(flags);
  for (const auto& warning : trace.warnings()) spdlog::warn("{}: {}", flags.choice.row, warning);
  std::string line;
  for (std::size_t number = 1; std::getline(std::cin, line); ++number) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    std::cout << trace.step(line, number) << '\n' << std::flush;  // whoever waits for the decision in a pipe gets it now
    require<StorageError>(bool(std::cout), "the decision cannot be written", "nobody would know it", "keep the reading end open");
  }
  require_end_of_input();
  return ExitCode::done;
}

constexpr const char* kFooter =
    R"(A line holds "prompts" (ids of the candidates), "budget" (rollouts), "select" (how many prompts), and optionally
"min_rollouts" (1), "max_rollouts" (the budget), "step" (the line's number), "progress" (0), "levels" and "priors" (one each of "prompts", on the
first line) and "report": what the step returned, a list of objects with "prompt", "rewards" and optionally "correct" (reward > 0.5), "lengths", "loss", "mean_abs_advantage". It is learned after the decision, whatever was decided.
The answer holds "selected", "counts", "bins" (-1: the policy has none), "weights", "probabilities" where the policy states them, and
"state_sha256" after the report.
The policy's table of prompts is 0 .. N-1 with --prompts N, else the candidates of the first line in ascending order of their ids.)";

}  // namespace

void add_schedule(CLI::App& app, Action& action) {
  auto flags = std::make_shared<Flags>();
  auto* command = app.add_subcommand("schedule", "a scheduling policy as a filter: steps in, decisions out, one JSON object a line");
  command->add_option("policy", flags->choice.row, "row of the table; rollcall policies lists them")->required();
  command->add_option("--set", flags->assignments, "knob=value of the policy; sampler=, allocator=, rounds=, selection= (pieces), seed=; may be repeated")
      ->allow_extra_args(false)
      ->take_all();
  command->add_option("--prompts", flags->prompts, "the prompts are 0 .. N-1; default: the first line's candidates")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{0xFFFFFFFF}));
  command->footer(kFooter);
  command->callback([flags, &action] { action = [flags] { return run(*flags); }; });
}

}  // namespace rollcall::app
