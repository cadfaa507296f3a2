// rollcall compare: two runs side by side on the held-out prompts that both answered, with their
// settings and their cost.
#include "app/archive/committed.hpp"
#include "app/commands.hpp"
#include "base/errors/visible.hpp"
#include "base/text/joined.hpp"
#include "io/source.hpp"
#include "report/evaluation.hpp"
#include "run/folder/grader_files.hpp"
#include "run/folder/recorded_settings.hpp"
#include "run/folder/run_folder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace rollcall::app {
namespace {

namespace fs = std::filesystem;

/// The last evaluation of a run.
struct HeldOut {
  std::uint64_t step = 0;
  /// by text and reference answer of the prompt
  std::map<std::pair<std::string, std::string>, report::PromptOutcome> outcomes;
};

struct Side {
  fs::path dir;
  RunConfig config;
  run::CoordinatorState state;
  bool has_state = false;
  HeldOut heldout;
};

HeldOut last_evaluation(const fs::path& dir) {
  HeldOut last;
  if (!io::is_run_folder(dir)) return last;
  io::each_group(
      dir, {.purpose = Purpose::eval},
      [&](const io::ArchivedGroup& group, const std::vector<std::string>&) {
        if (group.step != last.step) last = {group.step, {}};
        report::PromptOutcome& outcome = last.outcomes[{group.prompt.text, group.prompt.answer}];
        outcome.level = group.group.level;
        for (const Score& score : group.scores)
          outcome.correct.push_back(score.correct ? 1 : 0), outcome.answers.push_back(score.answer);
        return true;
      });
  return last;
}

/// Both sides' settings are read before a rollout of either is.
Side settings_of_side(const std::string& run) {
  Side side{.dir = run, .config = {}, .state = {}, .heldout = {}};
  require(run::holds_run(side.dir), fmt::format("{} is not a run folder", run),
          "it holds no config.toml and no checkpoint", "name two run folders");
  const auto recorded = run::recorded_settings(side.dir);
  require(recorded.has_value(), fmt::format("{} has no config.toml", run),
          "its checkpoints, of an earlier build, do not say its settings",
          "restore config.toml from a copy");
  side.config = recorded->config;
  return side;
}

void read_outcomes(Side& side) {
  std::vector<std::string> faults;
  if (auto newest = archive::newest_committed(side.dir, archive::Depth::state, faults))
    side.state = std::move(newest->state), side.has_state = true;
  for (const auto& fault : faults) print_visible("note        {}\n", fault);
  side.heldout = last_evaluation(side.dir);
}

/// The outcomes of both runs on the prompts that both answered, in the same order.
std::pair<std::vector<report::PromptOutcome>, std::vector<report::PromptOutcome>> paired(
    const HeldOut& a, const HeldOut& b) {
  std::pair<std::vector<report::PromptOutcome>, std::vector<report::PromptOutcome>> pairs;
  for (const auto& [prompt, outcome] : a.outcomes)
    if (const auto other = b.outcomes.find(prompt); other != b.outcomes.end())
      pairs.first.push_back(outcome), pairs.second.push_back(other->second);
  return pairs;
}

/// Fewer prompts give no interval: a sign test of n pairs has no p-value below 2 / 2^n, which is
/// above 0.05 for five, so no difference between the runs could be shown.
constexpr std::size_t kFewestPrompts = 6;

std::size_t fewest_samples(const std::vector<report::PromptOutcome>& outcomes) {
  std::size_t fewest = std::numeric_limits<std::size_t>::max();
  for (const auto& o : outcomes) fewest = std::min(fewest, o.correct.size());
  return fewest;
}

/// The differences in the judging of two runs' answers; empty if there are none.
std::string differing_judges(const Side& a, const Side& b) {
  std::vector<std::string> differing;
  for (const auto& changed : run::changed_keys(a.config, b.config))
    for (const char* key : {"reward.verifier", "reward.command", "task.extract"})
      if (changed.key == key) differing.push_back(changed.key);
  const bool same_command = a.config.reward.command == b.config.reward.command;
  if (same_command && a.has_state && b.has_state)
    if (const auto files = run::changes_of(a.state.graders, b.state.graders); !files.empty())
      differing.push_back(files);
  return joined(differing, ", ");
}

void print_heldout(const Side& a, const Side& b) {
  const auto [ours, theirs] = paired(a.heldout, b.heldout);
  if (ours.empty()) {
    const char* why = a.heldout.outcomes.empty()   ? "A has no evaluation"
                      : b.heldout.outcomes.empty() ? "B has no evaluation"
                                                   : "they have no prompt in common";
    print_visible("\nheld-out    nothing to compare: {}\n", why);
    return;
  }
  const auto most = std::int64_t(std::min(fewest_samples(ours), fewest_samples(theirs)));
  const std::int64_t k = std::min({a.config.eval.pass_k, b.config.eval.pass_k, most}),
                     resamples = a.config.eval.bootstrap;
  const auto seed = std::uint64_t(a.config.run.seed);
  const bool few = ours.size() < kFewestPrompts;
  print_visible("\n{:<11} {:>9} {:>9} {:>9}  {:<19}\n", "held-out", "A", "B", "B - A",
                few ? "" : "95 % interval");
  const auto row = [&](std::int64_t of, const report::Interval& left,
                       const report::Interval& right) {
    const auto gain = report::paired_gain(ours, theirs, of, resamples, seed);
    const std::string interval =
        few ? std::string()
            : fmt::format(
                  "  [{:+.4f}, {:+.4f}]{}", gain.low, gain.high,
                  gain.low > 0 || gain.high < 0 ? "" : "  no difference shown: 0 lies inside");
    print_visible("{:<11} {:>9.4f} {:>9.4f} {:>+9.4f}{}\n", fmt::format("pass@{}", of), left.mean,
                  right.mean, gain.mean, interval);
  };
  const auto left = report::evaluate(ours, k, resamples, seed),
             right = report::evaluate(theirs, k, resamples, seed);
  row(1, left.pass_at_1, right.pass_at_1);
  if (k > 1) row(k, left.pass_at_k, right.pass_at_k);
  print_visible(
      "            {} that both answered (A has {}, B has {}); A after step {}, B after "
      "step {}\n",
      ours.size() == 1 ? "1 prompt" : fmt::format("{} prompts", ours.size()),
      a.heldout.outcomes.size(), b.heldout.outcomes.size(), a.heldout.step, b.heldout.step);
  if (few)
    print_visible(
        "            fewer than {} prompts are too few for an interval: no difference between the "
        "runs can be shown by them\n",
        kFewestPrompts);
  if (const std::string judges = differing_judges(a, b); !judges.empty())
    print_visible(
        "warning     the judges of A and B differ ({}): the difference may be theirs and not that "
        "of the policies; rollcall archive rescore judges the answers of both alike\n",
        judges);
}

void print_settings(const Side& a, const Side& b) {
  const auto changed = run::changed_keys(a.config, b.config);
  if (fs::equivalent(a.dir, b.dir))
    return print_visible("\nsettings    A and B are the same run\n");
  if (changed.empty()) return print_visible("\nsettings    no key differs but run.dir\n");
  std::size_t widest = std::string("settings").size();
  for (const auto& c : changed) widest = std::max(widest, c.key.size());
  print_visible("\n{:<{}}  {}\n", "settings", widest, "A -> B");
  for (const auto& c : changed) print_visible("{:<{}}  {} -> {}\n", c.key, widest, c.before, c.now);
}

double seconds_of(const Side& side) {
  double all = 0.0;
  for (const auto& [stage, s] : side.state.seconds)
    if (stage != "step") all += s;  // "step" is the sum of the others during training
  return all;
}

void print_cost(const Side& a, const Side& b) {
  if (!a.has_state || !b.has_state)
    return print_visible("\ncost        not known: {} has no checkpoint\n",
                         a.has_state ? "B" : "A");
  const auto per_step = [](const Side& side) {
    const auto known = side.state.seconds.find("step");
    return known == side.state.seconds.end() || side.state.train_steps == 0
               ? 0.0
               : known->second / double(side.state.train_steps);
  };
  print_visible("\n{:<18} {:>12} {:>12}\n", "cost", "A", "B");
  print_visible("{:<18} {:>12} {:>12}\n", "supervised steps", a.state.sft_steps, b.state.sft_steps);
  print_visible("{:<18} {:>12} {:>12}\n", "training steps", a.state.train_steps,
                b.state.train_steps);
  print_visible("{:<18} {:>12} {:>12}\n", "rollouts", a.state.rollouts_total,
                b.state.rollouts_total);
  print_visible("{:<18} {:>12.2f} {:>12.2f}\n", "seconds a step", per_step(a), per_step(b));
  print_visible("{:<18} {:>12.0f} {:>12.0f}\n", "seconds in all", seconds_of(a), seconds_of(b));
  for (const auto& [name, side] : {std::pair("A", &a), std::pair("B", &b)})
    if (!side->state.parent.empty())
      print_visible(
          "{} is a branch: its steps and seconds include those of its parent up to there, its "
          "rollouts are its own (parent.json)\n",
          name);
}

ExitCode compare(const std::string& first, const std::string& second) {
  Side a = settings_of_side(first), b = settings_of_side(second);
  read_outcomes(a), read_outcomes(b);
  print_visible("A           {}\nB           {}\n", a.dir.string(), b.dir.string());
  print_heldout(a, b);
  print_settings(a, b);
  print_cost(a, b);
  return ExitCode::done;
}

}  // namespace

void add_compare(Command program) {
  auto runs = std::make_shared<std::pair<std::string, std::string>>();
  auto command = program.command(
      "compare",
      "two runs: what they gain on held-out prompts with paired intervals, the settings that "
      "differ, what they cost");
  command.option("a", runs->first, "run folder").required();
  command.option("b", runs->second, "run folder").required();
  command.runs([runs] { return compare(runs->first, runs->second); });
}

}  // namespace rollcall::app
