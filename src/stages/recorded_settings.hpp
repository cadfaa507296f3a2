// The settings that a run was started with, as its folder records them, and which of them a later start may change.
#pragma once

#include "core/run_config.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace rollcall::stages {

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
};

/// What the manifest of that checkpoint says, else config.toml, since checkpoints of earlier builds
/// hold no settings. Nothing where there is neither. Throws ConfigError, StorageError.
std::optional<RecordedSettings> recorded_settings(const std::filesystem::path& run_dir, const std::string& checkpoint);
/// The same of the newest checkpoint whose manifest can be read.
std::optional<RecordedSettings> recorded_settings(const std::filesystem::path& run_dir);

/// What config.toml says by now of keys that only the first start may set, where somebody edited it.
std::vector<ChangedKey> edited_keys(const std::filesystem::path& run_dir, const RunConfig& recorded);

/// The settings with what the earlier start made of those that a run file leaves open:
/// train.leaf_tokens, text.tokenizer and text.template.
RunConfig as_resolved(RunConfig config, const RecordedSettings& recorded);

/// Whether a folder holds a run: its config.toml, or a checkpoint.
bool holds_run(const std::filesystem::path& run_dir);

/// Throws ConfigError naming every key that fixes the result and is not what the run in run.dir was
/// started with. Does nothing where the folder holds no run.
void check_same_settings(const RunConfig& config, const std::string& checkpoint = {});

/// Says what a second start in run.dir changes, and where somebody edited config.toml, which is then
/// written anew.
void tell_changes(const RunConfig& config, const std::string& checkpoint);

}  // namespace rollcall::stages
