// Copies the parts that a branch needs from the parent, and resets the parts that begin anew.
#include "run/start/branch.hpp"

#include "base/errors/error.hpp"
#include "base/errors/log.hpp"
#include "base/files/file.hpp"
#include "base/text/json.hpp"
#include "core/settings_text.hpp"
#include "io/archive.hpp"
#include "io/checkpoint_settings.hpp"
#include "io/manifest.hpp"
#include "method/method.hpp"
#include "run/checkpoint/earlier_files.hpp"
#include "run/checkpoint/part.hpp"
#include "run/checkpoint/scheduler_files.hpp"
#include "run/context/run_context.hpp"
#include "run/coordinator/make_scheduler.hpp"
#include "run/folder/branch_leftovers.hpp"
#include "run/folder/run_folder.hpp"
#include "run/step/archived_steps.hpp"
#include "run/step/objective_state.hpp"
#include "run/update/update.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace rollcall::run {
namespace fs = std::filesystem;
namespace {

using nlohmann::json;

/// Whether the change follows from branching and was not made by the user.
bool follows(const ChangedKey& changed) {
  return changed.key == "eval.before" || changed.key == "sft.steps";
}

std::vector<ChangedKey> changed_in(const Branch& branch, const RunConfig& config) {
  auto keys = changed_keys(branch.settings, config);
  std::erase_if(keys, follows);
  return keys;
}

std::string parent_json(const Branch& branch, const RunConfig& config) {
  json changed = json::object();
  for (const auto& c : changed_in(branch, config)) changed[c.key] = {c.before, c.now};
  return json{{"run", fs::absolute(branch.parent).lexically_normal().string()},
              {"checkpoint", branch.checkpoint},
              {"sft_steps", branch.state.sft_steps},
              {"train_steps", branch.state.train_steps},
              {"changed", changed}}
      .dump();
}

/// The parent's state without evaluations, best checkpoint and files, which stay with the parent.
CoordinatorState state_of_branch(const Branch& branch, const RunContext& context) {
  CoordinatorState state = branch.state;
  state.before.reset(), state.after.reset();
  state.before_prompts.clear(), state.after_prompts.clear();
  state.best_value.reset(), state.best_metric.clear(), state.best_checkpoint.clear(),
      state.kept.emplace(), state.validations_since_best = 0;
  state.rollouts_total = 0;  // counts the branch's own rollouts; rollouts_per_level counts those
                             // that the training has seen
  state.rollback_to = branch.checkpoint;
  state.unpacked.clear(), state.packed_steps = state.train_steps;
  state.text_hash.clear(), state.examples_hash.clear();  // a resume compares with the texts that
                                                         // the branch itself began with
  state.judge_digest = context.rank_zero.judge_digest,
  state.archive_digest = archive_digest(context.config);
  state.mask_digest = context.mask.digest;
  if (context.config.self_judging.share == 0.0)
    std::erase_if(state.next, [](const DerivedPrompt& d) { return is_judge_task(d.from.kind); });
  if (context.config.second_pass.buffer == 0.0) {
    std::erase_if(state.next, [](const DerivedPrompt& d) { return !is_judge_task(d.from.kind); });
    state.histories.clear();
  }
  const auto now = numerics_here(context.config.run.numerics, state.sft_steps, state.train_steps);
  if (state.numerics.empty() || state.numerics.back().numerics != now.numerics ||
      state.numerics.back().device != now.device)
    state.numerics.push_back(now);
  state.parent = parent_json(branch, context.config);
  // No warning about other prompts is due if the branch asks for them.
  const auto changed = changed_in(branch, context.config);
  if (std::any_of(changed.begin(), changed.end(), [](const ChangedKey& c) {
        return c.key.starts_with("task.") || c.key == "run.seed";
      }))
    state.prompts_hash.clear();
  return state;
}

/// Copies the first rows of the parent's metrics: the rows of the steps up to the checkpoint.
void copy_metrics(const Branch& branch, const fs::path& run_dir) {
  if (branch.state.metric_rows == 0) return;
  const std::string all = read_file(branch.parent / "metrics.jsonl");
  std::size_t end = 0;
  for (std::int64_t row = 0; row < branch.state.metric_rows && end != std::string::npos; ++row)
    end = all.find('\n', end == 0 ? 0 : end + 1);
  require<StorageError>(end != std::string::npos,
                        fmt::format("{} has fewer rows than the checkpoint counts",
                                    (branch.parent / "metrics.jsonl").string()),
                        "the branch would miss a part of its history", "restore it from a copy");
  write_file_atomic(run_dir / "metrics.jsonl", all.substr(0, end + 1));
}

void link(const fs::path& from, const fs::path& to, const std::string& path) {
  make_folder((to / path).parent_path());
  link_or_copy(from / path, to / path);
}

/// Number of earlier steps that replay and drift may read: twice the number of policy versions that
/// they look back, since a skipped step has no version.
std::uint64_t reach_of(const RunConfig& config) {
  const auto objective = method::make_objective(config.objective.recipe, config.objective.pieces,
                                                config.objective.knobs);
  const std::uint64_t drift = reads_tracked_success(config, *objective) ? Drift::kWindow : 0;
  return 2 * std::max(config.replay.share > 0.0 ? std::uint64_t(config.replay.max_staleness) : 0,
                      drift);
}

void keep_earlier_steps(const Branch& branch, const RunContext& context) {
  const fs::path kept = context.run_dir / kParentFolder;
  const std::uint64_t reach = reach_of(context.config),
                      last = std::uint64_t(branch.state.train_steps),
                      first = last - std::min(last, reach);
  if (reach == 0) return;
  const auto wanted = [&](std::uint64_t from, std::uint64_t to) {
    return to > first && from <= last;
  };
  io::Manifest manifest;
  for (const auto& entry : io::read_manifest(branch.parent))
    if (entry.purpose == "train" && wanted(entry.first_step, entry.last_step))
      link(branch.parent, kept, entry.file.path), manifest.files.push_back(entry);
  io::save_manifest(kept, manifest);
  CoordinatorState listed;
  listed.train_steps = branch.state.train_steps;
  for (const auto& file : branch.state.unpacked) {
    const bool packed =
        std::any_of(manifest.files.begin(), manifest.files.end(), [&](const auto& entry) {
          return entry.first_step <= file.step && file.step <= entry.last_step;
        });
    if (file.purpose != Purpose::train || packed || !wanted(file.step, file.step)) continue;
    std::set<std::string> paths{file.files.shard.path, file.files.scores.path};
    for (const auto& path : paths) link(branch.parent, kept, path);
    listed.unpacked.push_back(file);
  }
  write_file_atomic(earlier_list(context.run_dir), to_json(listed) + "\n");
  if (fs::exists(branch.parent / kParentFolder))
    fs::copy(branch.parent / kParentFolder, kept / kParentFolder, fs::copy_options::recursive);
}

/// Names of the scheduler's files that the branch leaves out, because a scheduler with its settings
/// cannot read them.
std::set<std::string> scheduler_files_to_leave(const io::StoredCheckpoint& checkpoint,
                                               const RunContext& context) {
  std::set<std::string> left_out;
  try {
    SchedulerFiles().load(*make_scheduler(context.config, context.texts), checkpoint);
  } catch (const StorageError& other) {
    for (const auto& [name, facts] : checkpoint.files())
      for (const PartRow& row : part_rows())
        if (row.on_branch == OnBranch::taken_if_understood && numbers_in(row.part, name))
          left_out.insert(name);
    log_warning("the scheduler starts afresh: {}", other.what());
  }
  return left_out;
}

}  // namespace

Branch find_branch(const std::string& reference) {
  const fs::path parent = run_with(reference);
  require(!parent.empty(), fmt::format("--from {} names no run", reference),
          "it has no config.toml", "name a run folder, as RUN or RUN@STEP");
  const std::string name = checkpoint_folder(reference).filename().string();
  const auto recorded = *recorded_settings(parent, name);
  const auto edited = edited_keys(parent, recorded.config);
  std::vector<std::string> keys;
  for (const auto& c : edited)
    keys.push_back(fmt::format("{} = {} for {}", c.key, c.now, c.before));
  require<ConfigError>(edited.empty(),
                       fmt::format("{} was edited since checkpoint {}: {}",
                                   (parent / "config.toml").string(), name, fmt::join(keys, ", ")),
                       "the branch would take settings that the run was not made with",
                       "set them back, and give changes as --set");
  return {parent, name, recorded.config, state_of(io::StoredCheckpoint(parent, name))};
}

void require_folder_of_branch(const Branch& branch, const fs::path& run_dir) {
  std::error_code unknown;
  const fs::path own = run_dir / "config.toml";
  require<ConfigError>(
      !fs::equivalent(branch.parent, run_dir, unknown),
      fmt::format("--from {} needs a folder for the branch", branch.parent.string()),
      "the run that it comes from stays as it is", "add --set run.dir=NEW");
  require<EnvironmentError>(
      !holds_run(run_dir), fmt::format("run folder {} already holds a run", run_dir.string()),
      "a branch begins in a folder of its own",
      fmt::format("choose another with --set run.dir=...{}",
                  fs::exists(own)
                      ? fmt::format(", or continue it with train --resume {}", own.string())
                      : ""));
}

RunConfig settings_of_branch(const Branch& branch, RunConfig config) {
  require<ConfigError>(config.sft.steps == branch.settings.sft.steps,
                       fmt::format("sft.steps is {}, and --from is given", config.sft.steps),
                       "a branch goes on from trained weights, without a warm start",
                       "leave sft.steps out");
  require<ConfigError>(
      config.train.steps > branch.state.train_steps,
      fmt::format("train.steps is {}, and {} has done {}", config.train.steps, branch.checkpoint,
                  branch.state.train_steps),
      "steps count from the beginning of the run that is branched from",
      "ask for more with --set train.steps=..., or name an earlier step: RUN@STEP");
  for (const auto& c : changed_keys(branch.settings, config))
    require<ConfigError>(
        !c.key.starts_with("model.") || c.key == "model.path",
        fmt::format("{} is {}, and the checkpoint's model has {}", c.key, c.now, c.before),
        "the branch goes on with its weights and moments", "leave it out, or start a new run");
  config.sft.steps = branch.state.sft_steps, config.eval.before = false;
  return config;
}

void plant(const Branch& branch, const RunContext& context) {
  const io::StoredCheckpoint checkpoint(branch.parent, branch.checkpoint);
  const auto left_out = scheduler_files_to_leave(checkpoint, context);
  const CoordinatorState state = state_of_branch(branch, context);
  keep_earlier_steps(branch, context);
  copy_metrics(branch, context.run_dir);
  write_file_atomic(context.run_dir / "parent.json", json::parse(state.parent).dump(2) + "\n");
  io::branch_checkpoint(checkpoint, context.run_dir, {{file_of(Part::coordinator), to_json(state)}},
                        left_out, settings_text(context.config));
  log_info("branching from {} of {}", branch.checkpoint, branch.parent.string());
  for (const auto& c : changed_in(branch, context.config))
    log_info("{} is {} from here on; it was {}", c.key, c.now, c.before);
}

}  // namespace rollcall::run
