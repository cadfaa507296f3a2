// `rollcall view --out`: the pages as a folder, which appears whole or not at all.
#pragma once

#include "view/site.hpp"

#include <cstdint>
#include <filesystem>

namespace rollcall::view {

struct Written {
  std::uint64_t files = 0, bytes = 0;
};

/// Writes beside `folder` and renames at the end; an earlier site there is replaced, and stays as
/// it was should this fail. Tells its progress on standard output. Throws InputError when `folder`
/// is there and is no site of this program, EnvironmentError when another process writes it,
/// StorageError; and an Error with the exit code `failed` where SIGINT or SIGTERM ended it.
Written write_site(Site& site, const std::filesystem::path& folder);

}  // namespace rollcall::view
