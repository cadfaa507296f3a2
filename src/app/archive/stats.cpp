// rollcall archive stats: statistics of samples and verdicts, by step or by level.
#include "app/archive/choice.hpp"
#include "app/archive/output.hpp"
#include "app/archive/verbs.hpp"
#include "base/errors/error.hpp"
#include "base/errors/long_phase.hpp"
#include "base/errors/nearest.hpp"
#include "base/text/json.hpp"
#include "core/policy_sums.hpp"
#include "io/schema.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>

namespace rollcall::app::archive {
namespace {

struct Flags {
  Choice choice;
  std::string by = "step";
  bool json = false;
};

/// Sums over the rollouts of one row.
struct Sums {
  std::uint64_t groups = 0, rollouts = 0, correct = 0, undecided = 0, cut = 0, longest = 0;
  double reward = 0.0;
  PolicySums policy{};
  /// by prompt: number of rollouts, and of correct ones
  std::map<std::uint64_t, std::pair<double, double>> prompts{};
};
using Row = std::pair<Purpose, std::int64_t>;

void add(Sums& sums, const Rollout& rollout, const Score& score) {
  const std::uint64_t before = sums.policy.tokens;
  sums.policy.add(rollout);
  ++sums.rollouts;
  sums.correct += score.correct ? 1 : 0;
  sums.undecided += score.undecided ? 1 : 0;
  sums.cut += rollout.finish == FinishReason::length ? 1 : 0;
  sums.reward += score.reward;
  sums.longest = std::max(sums.longest, sums.policy.tokens - before);
}

/// Mean over prompts of the share of correct rollouts, so that a prompt with more rollouts counts
/// no more than another.
double pass_rate(const Sums& sums) {
  double all = 0.0;
  for (const auto& [prompt, of] : sums.prompts) all += of.second / std::max(of.first, 1.0);
  return sums.prompts.empty() ? 0.0 : all / double(sums.prompts.size());
}

double share(double part, std::uint64_t whole) { return whole == 0 ? 0.0 : part / double(whole); }

std::string text_of(const std::map<Row, Sums>& rows, const std::string& by) {
  std::string text =
      fmt::format("{:<10} {:>7} {:>8} {:>9} {:>9} {:>10} {:>9} {:>9} {:>8} {:>8} {:>8} {:>9}\n",
                  "purpose", by, "groups", "rollouts", "pass", "by rollout", "undecided", "reward",
                  "tokens", "longest", "cut", "entropy");
  for (const auto& [row, s] : rows) {
    text += fmt::format(
        "{:<10} {:>7} {:>8} {:>9} {:>9.4f} {:>10.4f} {:>9} {:>9.4f} {:>8.1f} {:>8} {:>8.4f} "
        "{:>9.4f}\n",
        io::text_of(row.first), row.second, s.groups, s.rollouts, pass_rate(s),
        share(double(s.correct), s.rollouts), s.undecided, share(s.reward, s.rollouts),
        share(double(s.policy.tokens), s.rollouts), s.longest, share(double(s.cut), s.rollouts),
        share(s.policy.entropy, s.policy.sampled));
  }
  return text;
}

std::string json_of(const std::map<Row, Sums>& rows, const std::string& by) {
  auto list = nlohmann::json::array();
  for (const auto& [row, s] : rows) {
    list.push_back({{"purpose", io::text_of(row.first)},
                    {by, row.second},
                    {"groups", s.groups},
                    {"rollouts", s.rollouts},
                    {"pass_rate", pass_rate(s)},
                    {"pass_rate_rollouts", share(double(s.correct), s.rollouts)},
                    {"undecided", s.undecided},
                    {"reward_mean", share(s.reward, s.rollouts)},
                    {"tokens_mean", share(double(s.policy.tokens), s.rollouts)},
                    {"tokens_max", s.longest},
                    {"cut_share", share(double(s.cut), s.rollouts)},
                    {"entropy_mean", share(s.policy.entropy, s.policy.sampled)}});
  }
  return list.dump(1) + "\n";
}

ExitCode stats(const Flags& flags) {
  const std::vector<std::string> ways{"step", "level", "bin"};
  require<ConfigError>(std::find(ways.begin(), ways.end(), flags.by) != ways.end(),
                       fmt::format("--by {}: rows are by step, level or bin", flags.by),
                       "these are the keys that every group has", suggest_name(flags.by, ways));
  std::map<Row, Sums> rows;
  std::atomic<std::uint64_t> groups = 0;
  std::optional<LongPhase> phase(std::in_place, "reading " + flags.choice.source,
                                 [&] { return fmt::format("{} groups", groups.load()); });
  each_chosen(flags.choice, [&](const io::ArchivedGroup& g, const auto&) {
    ++groups;
    Sums& sums = rows[{g.purpose, flags.by == "step"    ? std::int64_t(g.step)
                                  : flags.by == "level" ? g.group.level
                                                        : g.group.bin}];
    ++sums.groups;
    auto& [drawn, solved] = sums.prompts[g.group.id.prompt.value];
    for (std::size_t i = 0; i < g.group.rollouts.size(); ++i) {
      add(sums, g.group.rollouts[i], g.scores[i]);
      drawn += 1.0, solved += g.scores[i].correct ? 1.0 : 0.0;
    }
    return true;
  });
  phase.reset();
  Output out;
  out.write(flags.json ? json_of(rows, flags.by) : text_of(rows, flags.by));
  out.finish();
  return ExitCode::done;
}

}  // namespace

void add_stats(Command command) {
  auto flags = std::make_shared<Flags>();
  auto verb = command.command(
      "stats",
      "rollouts, pass rate (mean over prompts, and over rollouts), reward, lengths and entropies "
      "of every step, level or bin");
  add_source(verb, flags->choice);
  verb.option("--by", flags->by,
              "step (default), level, or the scheduler's difficulty bin (-1: it has none)");
  add_purpose(verb, flags->choice);
  add_scores(verb, flags->choice);
  add_step(verb, flags->choice);
  verb.flag("--json", flags->json, "as a JSON list");
  verb.runs([flags] { return stats(*flags); });
}

}  // namespace rollcall::app::archive
