// Starts the interposed file calls from the environment, for a program that knows nothing of them:
// LD_PRELOAD it.
//   ROLLCALL_FAULT_ROOT   calls on files below this folder count
//   ROLLCALL_FAULT_LOG    what happened is added to this file: at the end of a survey "RANK SITE
//   CALL COUNT" a place, after a fault "struck" ROLLCALL_FAULT        "RANK SITE NTH FAULT
//   once|on"; without it this is a survey: nothing fails
#include "faults/interpose.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>

namespace rollcall::faults {
namespace {

/// Of this process; 0 also where there is no launcher.
int rank_in_job() {
  for (const char* name : {"PMIX_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK"})
    if (const char* rank = std::getenv(name)) return std::atoi(rank);
  return 0;
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

void tell(const std::string& text) {
  const int fd =
      ::open(variable("ROLLCALL_FAULT_LOG").c_str(), O_WRONLY | O_APPEND | O_CREAT, 0644);
  if (fd < 0 || ::write(fd, text.data(), text.size()) != ssize_t(text.size()))
    std::fputs("cannot write ROLLCALL_FAULT_LOG\n", stderr);
  ::close(fd);
}

/// A launcher has the same environment.
bool is_program() { return std::string_view(program_invocation_short_name) == "rollcall"; }

void begin() {
  if (!is_program()) return;
  watch(variable("ROLLCALL_FAULT_ROOT"));
  note_sites();
  std::istringstream words(variable("ROLLCALL_FAULT"));
  int rank = 0;
  std::uint64_t site = 0, nth = 0;
  std::string fault, how;
  if (!(words >> rank >> std::hex >> site >> std::dec >> nth >> fault >> how) ||
      rank != rank_in_job())
    return;
  const auto* const found = std::find(std::begin(kFaultNames), std::end(kFaultNames), fault);
  if (found == std::end(kFaultNames)) std::abort();  // the caller's mistake
  when_struck([] { tell("struck\n"); });
  fail_at(site, nth, Fault(found - kFaultNames), how == "on");
}

void end() {
  if (!is_program() || !variable("ROLLCALL_FAULT").empty()) return;
  std::ostringstream all;
  for (const auto& [number, site] : sites())
    all << rank_in_job() << ' ' << std::hex << number << std::dec << ' '
        << kCallNames[int(site.call)] << ' ' << site.calls << '\n';
  if (!all.str().empty()) tell(all.str());
}

}  // namespace
}  // namespace rollcall::faults

namespace {
struct Life {
  pid_t pid = ::getpid();
  bool ended = false;
  Life() { rollcall::faults::begin(); }
  ~Life() { end(); }
  void end() {
    if (!ended && pid == ::getpid()) rollcall::faults::end();
    ended = true;
  }
} life;
}  // namespace

extern "C" [[noreturn]] void _exit(int code) {  // how the program ends, which destructors do not
                                                // see
  life.end();
  ::syscall(SYS_exit_group, code);
  std::abort();
}
