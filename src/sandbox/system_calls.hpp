// Which system calls a worker and a confined program may make: an allow-list, and what programs
// lose of it, compiled by libseccomp.
#pragma once

#include "sandbox/sandbox.hpp"

#include <linux/filter.h>

#include <vector>

namespace rollcall::sandbox {

/// Only in namespaces may a program start processes, send signals and change modes of files: in the
/// second tier nothing else would hold or end them.
/// What is not allowed answers ENOSYS, so that libraries fall back as on an older kernel; a foreign
/// calling convention (32 bit, x32) ends the process. The worker installs the first when it begins;
/// a program has the second on top, which is short, since the kernel translates it anew for each
/// run. Throws EnvironmentError.
std::vector<sock_filter> worker_calls(Tier tier);
std::vector<sock_filter> withheld_calls(Tier tier);  ///< refuses what only workers need; of what
                                                     ///< worker_calls() refuses it says nothing

}  // namespace rollcall::sandbox
