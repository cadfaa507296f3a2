// What is wrong with a run file, all of it at once, and hints about keys that are none.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace rollcall {

/// Keeps the message of the ConfigError that `check` throws, so that the checks after it are made, too.
void collect(std::vector<std::string>& faults, const std::function<void()>& check);
/// Throws ConfigError with these messages, one a line; returns where there are none. Who corrects a
/// run file wants to see all that is wrong with it.
void require_no_faults(const std::vector<std::string>& faults);

/// What to say of a key that no schema has, such as what another program's key is called here;
/// empty: nothing. Set once, before any file is read.
using KeyHint = std::string (*)(std::string_view key);
void hint_at_keys(KeyHint hint);

/// Whether one name may be a slip for the other: a third of the shorter one's letters differ at
/// most, or two, or one holds the other. suggest_name (base/nearest.hpp) suggests nothing else.
bool is_near(std::string_view name, std::string_view other);

}  // namespace rollcall
