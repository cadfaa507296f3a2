// The settings of a run as text: RUN/config.toml, RUN/submitted-*.toml, and what the manifest of
// each checkpoint holds.
#pragma once

#include "core/run_config.hpp"

#include <filesystem>
#include <string>

namespace rollcall {

/// Every setting with its value and its meaning, below the line that says whose text it is.
std::string settings_text(RunConfig config);

/// Reads such a text over the defaults; nothing is checked. Throws ConfigError naming `origin`.
RunConfig read_settings(const std::string& text, const std::string& origin);

/// Whether a build wrote it that had no scheduler.hears: its policies heard the verifier's rewards.
bool precedes_hears(const std::string& text);

/// Whether this is the name of settings that rollcall submit wrote for a job: submitted-*.toml, or
/// submitted.toml of earlier builds.
bool is_submitted(const std::filesystem::path& file);

/// Whether a file is the config.toml or a submitted-*.toml of a run folder, by its name and its
/// first
/// line. Such a file belongs to the folder that it lies in, whatever run.dir it states, so that a
/// copied or moved run is never taken for the one that it came from.
bool belongs_to_folder(const std::filesystem::path& file, const std::string& text);
/// By the name alone: no other file need be read to know.
bool has_record_name(const std::filesystem::path& file);

/// A clause about a run.dir that the file states and load_run_config() has not taken for that
/// reason,
/// so that `config` has the file's folder; empty where there is nothing to say.
std::string ignored_run_dir(const std::filesystem::path& file, const RunConfig& config);

}  // namespace rollcall
