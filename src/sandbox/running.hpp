// A program while it runs: its pipes, the bytes on their way in and out, and its wall-clock limit.
#pragma once

#include "sandbox/sandbox.hpp"
#include "sandbox/usage.hpp"

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rollcall::sandbox {

/// The way in which a program ended, written by the process that waited for it.
struct Ending {
  std::int64_t wait_status = 0;
  std::int64_t cpu_us = 0;
  std::int64_t peak_kib = 0;
  bool operator==(const Ending&) const = default;
};

/// A pipe into the program and the bytes still to be written. At the end its descriptor is closed
/// and set to -1, as in a Catch.
struct Feed {
  int* descriptor = nullptr;
  std::string_view rest;
};

/// Writes as many bytes as the pipe takes. Closes the pipe when no bytes are left or its reader is
/// gone.
void feed(Feed& feed);

/// A pipe out of the program and the bytes that have arrived, never more than `most`.
struct Catch {
  int* descriptor = nullptr;
  std::string* bytes = nullptr;
  std::size_t most = 0;
};

struct Running {
  pid_t pid = -1;   ///< the program's first process; killing it ends everything that it started
  int ending = -1;  ///< descriptor that becomes readable when the program has ended: a pipe or
                    ///< socket that carries an Ending, or a pid descriptor
  std::vector<Feed> feeds;
  std::vector<Catch> catches;
  int owner = -1;  ///< socket; when its other end closes, the outcome is no longer wanted, and the
                   ///< worker ends
  const Outside* outside = nullptr;
  /// Limit in bytes for all processes of the program together, watched while it has more than one.
  std::uint64_t memory = 0;
  Waiting waiting{};  ///< filled in if the wall-clock limit ends the program
};

/// Feeds and reads the program until it has ended. Returns why it was ended by force, or
/// End::passed if it ended by itself; fills `reported` if an Ending came.
End attend(Running& running, double wall_s, std::optional<Ending>& reported);

/// Reads the bytes left in the pipes once no process can write any more. Returns false if a Catch
/// would then hold more than its `most` bytes.
bool drain(Running& running);

}  // namespace rollcall::sandbox
