// Files of steps before a branch, which its replay may still draw.
#pragma once

#include "run/checkpoint/coordinator_state.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace rollcall::run {

/// Files of steps before the branch that replay may still draw, below RUN/parent; nothing in a run
/// that is no branch. `before`: the first step of the branch's own.
struct EarlierFiles {
  std::uint64_t before = 0;
  std::vector<UnpackedFile> unpacked;
};
EarlierFiles parse_earlier(const std::string& text, const std::string& origin);
std::filesystem::path earlier_list(const std::filesystem::path& run_dir);

}  // namespace rollcall::run
