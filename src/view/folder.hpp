// `rollcall view --out`: writes the pages as a folder, which appears as a whole or not at all.
#pragma once

#include "view/site.hpp"

#include <cstdint>
#include <filesystem>

namespace rollcall::view {

struct Written {
  std::uint64_t files = 0, bytes = 0;
};

/// Throws InputError if `folder` exists but is not a site of this program.
void require_own_pages(const std::filesystem::path& folder);

/// Writes into a folder beside `folder` and renames it at the end. An earlier site is replaced, and
/// stays as it was if this fails. Shows its progress on standard output. Throws as
/// require_own_pages() does, EnvironmentError if another process is writing it, StorageError, and
/// an Error with exit code `failed` after SIGINT or SIGTERM.
Written write_site(Site& site, const std::filesystem::path& folder);

}  // namespace rollcall::view
