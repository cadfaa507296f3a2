// What a run is doing or how it ended, in the words of `rollcall status` and `rollcall report`.
#pragma once

#include <filesystem>
#include <string>

namespace rollcall::app {

/// Why the last start failed, as RUN/failure says; empty if it did not, or if the run is running.
std::string failure_of(const std::filesystem::path& dir);

/// `phase` of status.json, unless the last start failed, with a remark if the run is not over and
/// no process holds its folder.
std::string state_of(const std::filesystem::path& dir, const std::string& phase);

}  // namespace rollcall::app
