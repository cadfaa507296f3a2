// TOML text as tables. A broken line costs that line alone where the others cannot mean something
// else without it, so that all that is wrong with a run file is found at once.
#pragma once

#include "base/faults.hpp"

#include <toml++/toml.h>

#include <string>
#include <string_view>
#include <vector>

namespace rollcall {

/// What could be read of a text.
struct TomlText {
  std::vector<toml::table> parts{};  ///< in their order; a section that is there twice begins
                                     ///< another
  std::vector<Fault> faults{};       ///< of kEverySetting where the rest of the text was not read
};

/// Throws ConfigError where the text is longer, or nests deeper, than any that a person writes.
TomlText read_toml(std::string_view text, std::string_view origin);

/// The same within the same limits, as toml++ reads it. Throws toml::parse_error.
toml::table parse_toml(std::string_view text, std::string_view origin);

}  // namespace rollcall
