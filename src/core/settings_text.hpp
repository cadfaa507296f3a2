// The settings of a run as text, as in RUN/config.toml, RUN/submitted-*.toml and the manifest of
// each checkpoint.
#pragma once

#include "core/run_config.hpp"

#include <filesystem>
#include <string>

namespace rollcall {

/// Every setting with its value and its meaning, after a first line that says which program wrote
/// it.
std::string settings_text(RunConfig config);

/// Reads the text of a run's settings over the defaults without checking the settings. Throws
/// ConfigError, which names `origin`.
RunConfig read_settings(const std::string& text, const std::string& origin);

/// Whether the text is from a build without scheduler.hears, whose schedulers learned from the
/// verifier's rewards.
bool precedes_hears(const std::string& text);

/// Whether this is the file name of settings that `rollcall submit` wrote for a job:
/// submitted-*.toml, or submitted.toml in earlier builds.
bool is_submitted(const std::filesystem::path& file);

/// Whether a file is the config.toml or a submitted-*.toml of a run folder, as its name and first
/// line show, or, for a config.toml, the checkpoints beside it. Such a file belongs to the folder
/// that it lies in, whatever its run.dir says, so that a copied or moved run is never taken for the
/// original.
bool belongs_to_folder(const std::filesystem::path& file, const std::string& text);
/// Whether the file has the name of a config.toml or a submitted-*.toml. It is not read.
bool has_record_name(const std::filesystem::path& file);

/// A clause about the run.dir that the file states, if load_run_config() ignored it because the
/// file belongs to its folder, which `config` has instead. Empty if nothing was ignored.
std::string ignored_run_dir(const std::filesystem::path& file, const RunConfig& config);

}  // namespace rollcall
