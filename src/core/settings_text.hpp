// The settings of a run as text: RUN/config.toml, RUN/submitted.toml, and what the manifest of each checkpoint holds.
#pragma once

#include "core/run_config.hpp"

#include <filesystem>
#include <string>

namespace rollcall {

/// Every setting with its value and its meaning, below the line that says whose text it is.
std::string settings_text(RunConfig config);

/// Reads such a text over the defaults; nothing is checked. Throws ConfigError naming `origin`.
RunConfig read_settings(const std::string& text, const std::string& origin);

/// Whether a file is the config.toml or submitted.toml of a run folder, by its name and its first
/// line. Such a file belongs to the folder that it lies in, whatever run.dir it states, so that a
/// copied or moved run is never taken for the one that it came from.
bool belongs_to_folder(const std::filesystem::path& file, const std::string& text);

}  // namespace rollcall
