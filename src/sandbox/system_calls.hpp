// The system calls that workers and programs may make: a list for workers, and a list of calls on
// it that programs lose. Both are compiled by libseccomp.
#pragma once

#include "sandbox/sandbox.hpp"

#include <linux/filter.h>

#include <vector>

namespace rollcall::sandbox {

/// The filter that a worker installs when it begins. Only in namespaces may a program start
/// processes, send signals and change file modes, because in the second tier nothing else would
/// confine or end them. A forbidden call fails with ENOSYS, so that libraries fall back as on an
/// older kernel; a foreign calling convention (32 bit, x32) ends the process. Throws
/// EnvironmentError.
std::vector<sock_filter> worker_calls(Tier tier);
/// A filter on top of worker_calls() for programs, which forbids the calls that only workers need.
/// It is short, because the kernel translates it again for each run.
std::vector<sock_filter> withheld_calls(Tier tier);

}  // namespace rollcall::sandbox
