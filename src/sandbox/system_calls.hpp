// Which system calls a confined program may make: an allow-list, compiled by libseccomp.
#pragma once

#include "sandbox/sandbox.hpp"

#include <linux/filter.h>

#include <vector>

namespace rollcall::sandbox {

/// Only in namespaces may a program start processes, send signals and change modes of files: in the second tier nothing else would hold or end them.
/// What is not allowed answers ENOSYS, so that libraries fall back as on an older kernel; a foreign calling convention (32 bit, x32) ends the process.
/// Throws EnvironmentError.
std::vector<sock_filter> allowed_system_calls(Tier tier);

}  // namespace rollcall::sandbox
