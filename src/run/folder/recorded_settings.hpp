// The settings that a run was started with, as its folder records them, and which of them a later
// start may change.
#pragma once

#include "core/run_config.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace rollcall::run {

/// A key with another value than before, both as TOML writes them; "unset" where it is not given.
struct ChangedKey {
  std::string key, before, now;
};

/// All of them but run.dir, by name.
std::vector<ChangedKey> changed_keys(const RunConfig& before, const RunConfig& now);

/// Whether a resumed run may have another value of the key: it says how long, where and how closely
/// watched, and not what is computed.
bool may_change(const std::string& key);

struct RecordedSettings {
  std::string place;  ///< "checkpoint train_000004" or "config.toml"
  RunConfig config;
  bool precedes_hears = false;  ///< an earlier build wrote it, whose policies heard the verifier
                                ///< alone
};

/// What the manifest of that checkpoint says, else config.toml, since checkpoints of earlier builds
/// hold no settings. Nothing where there is neither. Throws ConfigError, StorageError.
std::optional<RecordedSettings> recorded_settings(const std::filesystem::path& run_dir,
                                                  const std::string& checkpoint);
/// The same of the newest checkpoint whose manifest can be read.
std::optional<RecordedSettings> recorded_settings(const std::filesystem::path& run_dir);

/// What config.toml says by now of keys that only the first start may set, where somebody edited
/// it.
std::vector<ChangedKey> edited_keys(const std::filesystem::path& run_dir,
                                    const RunConfig& recorded);

/// Settings of a resume with what the first start made of those that a run file leaves open and
/// that would fall out otherwise by now: train.micro_batch_tokens and task.validation_prompts, and
/// where the
/// run is of a build that had no such keys, scheduler.hears and task.split. Throws ConfigError
/// where this build cannot go on as that one did.
RunConfig as_begun(RunConfig config, const RecordedSettings& recorded);

/// The same, with text.tokenizer, text.template, task.answer_marker and reward.verifier too, which
/// a start takes from the files that they follow from. Throws InputError where it cannot.
RunConfig as_resolved(RunConfig config, const RecordedSettings& recorded);

/// Whether a folder holds a run: its config.toml, or a checkpoint that is not just what a branch
/// left that did not begin.
bool holds_run(const std::filesystem::path& run_dir);

/// Throws ConfigError where the run in run.dir has done more steps than train.steps.
void check_steps(const RunConfig& config, std::int64_t done);

/// Throws ConfigError naming every key that fixes the result and is not what the run in run.dir was
/// started with. Does nothing where the folder holds no run.
void check_same_settings(const RunConfig& config, const std::string& checkpoint = {});

/// Says what a second start in run.dir changes, and where somebody edited config.toml, which is
/// then
/// written anew.
void tell_changes(const RunConfig& config, const std::string& checkpoint);

}  // namespace rollcall::run
