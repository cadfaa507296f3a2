// Reads TOML text as tables. If a broken line cannot change the meaning of the others, only this
// line is skipped, so that all mistakes in a run file are found at once.
#pragma once

#include "base/errors/faults.hpp"

#include <toml++/toml.h>

#include <string>
#include <string_view>
#include <vector>

namespace rollcall {

/// The parts of a text that could be read.
struct TomlText {
  /// The tables that were read, in text order. If the header of a section occurs a second time,
  /// another table begins.
  std::vector<toml::table> parts{};
  /// If the text could be read only up to a mistake, the fault of that mistake has the key
  /// kEverySetting, because any setting may be in the rest of the text.
  std::vector<Fault> faults{};
};

/// Throws ConfigError if the text is longer, or nests deeper, than a person would write.
TomlText read_toml(std::string_view text, std::string_view origin);

/// The text as toml++ reads it without these repairs, within the same limits. Throws
/// toml::parse_error.
toml::table parse_toml(std::string_view text, std::string_view origin);

}  // namespace rollcall
