// A program while it runs: its pipes, the bytes on their way in and out, and the clock that guards
// it.
#pragma once

#include "sandbox/sandbox.hpp"
#include "sandbox/usage.hpp"

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rollcall::sandbox {

/// What is known of a program's end. Written by whoever waited for it.
struct Ending {
  std::int64_t wait_status = 0;
  std::int64_t cpu_us = 0;
  std::int64_t peak_kib = 0;
  bool operator==(const Ending&) const = default;
};

/// A pipe into the program and what is still to be written. Descriptors are closed, and set to -1,
/// at their end.
struct Feed {
  int* descriptor = nullptr;
  std::string_view rest;
};

void feed(Feed& feed);  ///< writes what the pipe takes; closes it when nothing is left or nobody
                        ///< reads

/// A pipe out of it and what came, never more than `most` bytes.
struct Catch {
  int* descriptor = nullptr;
  std::string* bytes = nullptr;
  std::size_t most = 0;
};

struct Running {
  pid_t pid = -1;   ///< to be killed with all that it started
  int ending = -1;  ///< an Ending comes from here, or the end of the file
  std::vector<Feed> feeds;
  std::vector<Catch> catches;
  int owner = -1;  ///< when this hangs up nobody wants the outcome: the process ends
  const Outside* outside = nullptr;
  std::uint64_t memory = 0;  ///< most bytes that its processes together may hold, where there are
                             ///< several
  Waiting waiting{};         ///< filled where the wall clock ends it
};

/// Until the program has ended. What ended it by force, or End::passed where it ended by itself;
/// `told` is filled where an Ending came.
End attend(Running& running, double wall_s, std::optional<Ending>& told);

/// What is left in the pipes once nobody can write any more. False: more than allowed.
bool drain(Running& running);

}  // namespace rollcall::sandbox
