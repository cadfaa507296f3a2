// Symbolic links in a folder that is about to be written to. The folder may come from a stranger,
// and its links may lead anywhere.
#pragma once

#include <filesystem>

namespace rollcall {

/// Checks the links directly in a run folder. Links under names that Rollcall does not write to are
/// ignored. A folder of large files may be a link of this user to a folder of this user that is not
/// in another run folder, for example on scratch; that is logged. Throws EnvironmentError for any
/// other link under a name that Rollcall writes to.
void require_no_planted_links(const std::filesystem::path& folder);

}  // namespace rollcall
