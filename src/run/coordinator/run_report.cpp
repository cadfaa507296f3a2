// Reads everything from files and the coordinator's state, so that the run need not have reached
// its end.
#include "run/coordinator/run_report.hpp"

#include "base/errors/error.hpp"
#include "base/files/file.hpp"
#include "base/text/json.hpp"
#include "io/archive.hpp"
#include "reward/verifier.hpp"
#include "run/folder/recorded_settings.hpp"
#include "task/rows/file_list.hpp"
#include "task/task.hpp"
#include "text/answer/accepted_answers.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rollcall::run {
namespace {

namespace fs = std::filesystem;
using Facts = std::vector<std::pair<std::string, std::string>>;

std::string extraction_of(const RunConfig& config) {
  if (!config.reward.command.empty()) return {};  // the command reads the whole response
  const auto& verifier =
      reward::chosen_verifier(config.reward, task::find_task(config.task.name).verifier);
  return reward::Grader(verifier, config.task, config.reward).extraction();
}

std::string data_text(const TaskSection& task) {
  if (task.file.empty()) return fmt::format("{}, made", task.name);
  const std::string files = task::shown_files(task);
  return task.heldout_file.empty() ? files
                                   : fmt::format("{}, held out: {}", files, task.heldout_file);
}

std::string model_text(const RunConfig& config, const CoordinatorState& state) {
  if (!state.parent.empty()) {
    const auto parent = nlohmann::json::parse(state.parent);
    return fmt::format("{} of {}", parent.value("checkpoint", "?"), parent.value("run", "?"));
  }
  if (!config.run.init_from.empty()) return config.run.init_from;
  if (!config.model.path.empty()) return config.model.path;
  return fmt::format("new: {} layers of {}", config.model.num_hidden_layers,
                     config.model.hidden_size);
}

/// Settings that differ from their defaults and that no other row shows.
Facts own_settings(const RunConfig& config) {
  Facts facts;
  for (const auto& c : changed_keys(RunConfig{}, config))
    if (c.now != "unset" && c.now != "\"\"") facts.emplace_back(c.key, c.now);
  return facts;
}

/// The last archived training group with different rewards, from which a group-relative method
/// learns.
std::vector<report::GroupExhibit> exhibit(const fs::path& run_dir) {
  const auto entries = io::read_manifest(run_dir);
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
    if (entry->purpose != "train") continue;
    const auto groups = io::read_archive(run_dir, *entry);
    for (auto g = groups.rbegin(); g != groups.rend(); ++g) {
      report::GroupExhibit shown{g->prompt.text, text::shown_reference(g->prompt.answer), {}};
      bool differ = false;
      for (std::size_t i = 0; i < g->scores.size(); ++i) {
        shown.responses.emplace_back(g->group.rollouts[i].text, g->scores[i].reward);
        differ = differ || g->scores[i].reward != g->scores[0].reward;
      }
      if (differ) return {shown};
    }
  }
  return {};
}

/// The reason why the last start failed; empty if it did not fail.
std::string failure_of(const fs::path& run_dir) {
  return fs::exists(run_dir / "failure") ? read_file(run_dir / "failure") : std::string();
}

Facts head_of(const fs::path& run_dir, const RunConfig& config, const CoordinatorState& state,
              const std::string& phase) {
  Facts facts{{"run folder", run_dir.string()}, {"state", phase}};
  if (const auto why = failure_of(run_dir); !why.empty()) facts.emplace_back("failure", why);
  const Facts rest{{"data", data_text(config.task)},
                   {"model", model_text(config, state)},
                   {"answers found by", config.reward.command.empty()
                                            ? extraction_of(config)
                                            : "reward.command, which reads the whole response"},
                   {"recipe", config.objective.recipe},
                   {"scheduler", config.scheduler.policy},
                   {"steps", fmt::format("{} of {}", state.train_steps, config.train.steps)},
                   {"seed", fmt::format("{}", config.run.seed)},
                   {"rollouts", fmt::format("{}", state.rollouts_total)}};
  facts.insert(facts.end(), rest.begin(), rest.end());
  return facts;
}

}  // namespace

std::map<std::string, report::Evaluation> evaluations_of(const RunConfig& config,
                                                         const CoordinatorState& state) {
  std::map<std::string, report::Evaluation> all;
  const auto& c = config.eval;
  if (state.before)
    all["before"] =
        report::evaluate(*state.before, c.pass_k, c.bootstrap, std::uint64_t(config.run.seed));
  if (state.after)
    all["after"] =
        report::evaluate(*state.after, c.pass_k, c.bootstrap, std::uint64_t(config.run.seed));
  for (auto& [when, evaluation] : all) evaluation.extract = extraction_of(config);
  return all;
}

std::map<std::string, report::Interval> gains_of(const RunConfig& config,
                                                 const CoordinatorState& state) {
  std::map<std::string, report::Interval> gains;
  if (!state.before || !state.after) return gains;
  for (const std::int64_t k : {std::int64_t{1}, config.eval.pass_k})
    gains[fmt::format("pass@{}", k)] = report::paired_gain(
        *state.before, *state.after, k, config.eval.bootstrap, std::uint64_t(config.run.seed));
  return gains;
}

Facts facts_of(const nlohmann::json& result) {
  Facts facts;
  constexpr std::pair<const char*, const char*> kNames[] = {{"ended_early", "ended early"},
                                                            {"parameters", "parameters"},
                                                            {"layout", "layout"},
                                                            {"version", "version"}};
  for (const auto& [key, name] : kNames) {
    const auto value = result.find(key);
    if (value != result.end())
      facts.emplace_back(name, value->is_string() ? value->get<std::string>() : value->dump());
  }
  return facts;
}

report::ReportInput read_report(const fs::path& run_dir, const RunConfig& config,
                                const CoordinatorState& state, const std::string& phase) {
  report::ReportInput input;
  input.title = fmt::format("{} on {}", config.objective.recipe, config.task.name);
  input.facts = head_of(run_dir, config, state, phase);
  input.settings = own_settings(config);
  if (fs::exists(run_dir / "metrics.jsonl")) input.metrics = report::read_metrics(run_dir);
  report::RecentSteps recent;
  for (const auto& row : input.metrics) recent.add(row);
  input.diagnoses = report::diagnose(recent, config);
  input.evaluations = evaluations_of(config, state), input.gains = gains_of(config, state);
  for (const auto& [stage, seconds] : state.seconds) {
    // The entry "step" is the sum of the other stages over training.
    if (stage != "step") input.stage_seconds.emplace_back(stage, seconds);
  }
  input.rollouts_per_level = state.rollouts_per_level;
  input.groups = exhibit(run_dir);
  return input;
}

}  // namespace rollcall::run
