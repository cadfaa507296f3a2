// Files of the steps before a branch began, from which its replay may still draw.
#pragma once

#include "run/checkpoint/coordinator_state.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace rollcall::run {

/// Files below RUN/parent, with rollouts of the parent that replay may still draw. A run that is no
/// branch has none. `before`: the first step of the branch itself.
struct EarlierFiles {
  std::uint64_t before = 0;
  std::vector<UnpackedFile> unpacked;
};
EarlierFiles parse_earlier(const std::string& text, const std::string& origin);
std::filesystem::path earlier_list(const std::filesystem::path& run_dir);

}  // namespace rollcall::run
