// The settings with which a run was started, as its folder records them, and which of them a later
// start may change.
#pragma once

#include "core/run_config.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace rollcall::run {

/// A key with a changed value, and both values as TOML writes them; "unset" where the key is not
/// given.
struct ChangedKey {
  std::string key, before, now;
};

/// All changed keys except run.dir, sorted by name.
std::vector<ChangedKey> changed_keys(const RunConfig& before, const RunConfig& now);

/// Whether a resumed run may change the key: it says how long the run is, where it runs or how
/// closely it is watched, and not what is computed.
bool may_change(const std::string& key);

struct RecordedSettings {
  std::string place;  ///< "checkpoint train_000004" or "config.toml"
  RunConfig config;
  bool precedes_hears = false;  ///< a build before scheduler.hears wrote the settings: schedulers
                                ///< received the verifier's rewards alone
};

/// The settings in the manifest of the checkpoint, else those of config.toml, because checkpoints
/// of earlier builds have no settings. Nothing where there is neither. Throws ConfigError,
/// StorageError.
std::optional<RecordedSettings> recorded_settings(const std::filesystem::path& run_dir,
                                                  const std::string& checkpoint);
/// recorded_settings() for the newest checkpoint whose manifest can be read.
std::optional<RecordedSettings> recorded_settings(const std::filesystem::path& run_dir);

/// Keys of config.toml that somebody has edited although only the first start may set them.
std::vector<ChangedKey> edited_keys(const std::filesystem::path& run_dir,
                                    const RunConfig& recorded);

/// The settings of a resume, with the values that the first start gave to settings which a run file
/// leaves open and which would be resolved differently now: train.micro_batch_tokens and
/// task.validation_prompts, and for a run of a build without these keys scheduler.hears and
/// task.split. Throws ConfigError where this build cannot continue as that one did.
RunConfig as_begun(RunConfig config, const RecordedSettings& recorded);

/// as_begun(), and then also text.tokenizer, text.template, task.answer_marker and reward.verifier
/// as a start takes them from files. Throws InputError where it cannot read those.
RunConfig as_resolved(RunConfig config, const RecordedSettings& recorded);

/// The settings, with what a start takes from model files and rows where a run file leaves it open
/// (text.tokenizer, text.template, task.answer_marker, reward.verifier) as it is recorded.
RunConfig with_recorded_texts(RunConfig config, const RecordedSettings& recorded);

/// Whether a folder holds a run: a config.toml, or a checkpoint that is more than the leftover of a
/// branch that has not begun.
bool holds_run(const std::filesystem::path& run_dir);

/// Throws ConfigError where the run in run.dir has done more steps than train.steps.
void check_steps(const RunConfig& config, std::int64_t done);

/// Throws ConfigError with every key that fixes the result and differs from the setting with which
/// the run in run.dir was started. With the name of a checkpoint, does nothing where the folder
/// holds no run.
void check_same_settings(const RunConfig& config, const RecordedSettings& recorded);
void check_same_settings(const RunConfig& config, const std::string& checkpoint = {});

/// Logs what a second start in run.dir changes, and where somebody has edited config.toml, which is
/// then written again.
void tell_changes(const RunConfig& config, const std::string& checkpoint);

}  // namespace rollcall::run
