// Symbolic links in a folder that is going to be written to: a folder may come from a stranger, and
// its links lead anywhere.
#pragma once

#include <filesystem>

namespace rollcall {

/// Looks at the links right below a run folder. Those under names that nobody writes to are left
/// alone. The folders of large files may be links of one's own to a folder of one's own, for
/// example
/// on scratch, which is logged. Throws EnvironmentError for any other link under a name that
/// Rollcall writes to.
void require_no_planted_links(const std::filesystem::path& folder);

}  // namespace rollcall
