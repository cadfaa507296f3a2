// Runs code that nobody has vouched for: one program with its input in, what came of it out, as a
// value. Nothing that it does outlives the run or is seen outside.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rollcall::sandbox {

/// What a run may use. Counted limits decide; the wall clock only guards, and a run that it ended
/// says so.
struct Limits {
  std::int64_t cpu_s = 5;  ///< processor time of each process, whole seconds (RLIMIT_CPU)
  double wall_s = 20;      ///< from the start of the run to its end by force
  std::uint64_t memory = 512ULL << 20;  ///< bytes of address space of each process
  std::uint64_t output = 1ULL << 20;    ///< bytes of standard output and of standard error, each
  std::uint64_t files = 32ULL << 20;    ///< bytes in /tmp, and of one file
  std::int64_t processes = 16;          ///< processes and threads at a time
  bool operator==(const Limits&) const = default;
};

/// How a run is confined. `namespaces`: user, mount, pid, network, IPC, UTS and cgroup namespaces,
/// a minimal read-only root, seccomp. `landlock`: where a site forbids user namespaces: Landlock
/// and seccomp alone; a single process that may start no other and send no signal, but sees names
/// of files and its user's ids.
enum class Tier : std::uint8_t { none, namespaces, landlock };

struct Setup {
  Limits limits{};
  bool allow_landlock = false;  ///< the second tier may serve where the first cannot
  int workers = 2;  ///< started in advance; runs beyond that many at a time wait for one
};

/// Code of this program itself: `output` becomes the run's standard output, the value its exit
/// status. It must be linked in, not loaded later.
using Function = int (*)(std::string_view input, std::string& output);

/// One of three.
struct Program {
  enum class Kind : std::uint8_t { python, command, function };
  Kind kind = Kind::command;
  std::string code;    ///< python: the source of __main__; forked from a warm interpreter
  std::string checks;  ///< python: statements about the code's names, run in a process of their own
                       ///< (python/checks.py); each assert at their top is a test
  std::vector<std::string> argv;  ///< command: found in /usr/bin and /bin where it has no slash
  /// command: name without a slash, and content, in its working folder
  std::vector<std::pair<std::string, std::string>> files;
  Function function = nullptr;
};

Program python(std::string code, std::string checks = {});
Program command(std::vector<std::string> argv,
                std::vector<std::pair<std::string, std::string>> files = {});
Program function(Function f);

/// `passed`: exit status 0 and, where there are checks, all of them. `failed`: another status or a
/// failed check. `crashed`: ended by a signal that no limit sent.
/// `sandbox_error`: nothing is known of the program; `reason` says why.
enum class End : std::uint8_t {
  passed,
  failed,
  timed_out,
  out_of_memory,
  output_limit,
  crashed,
  sandbox_error
};

struct Counts {
  std::uint64_t cpu_us = 0;       ///< processor time of the program and of what it waited for
  std::uint64_t peak_memory = 0;  ///< bytes resident, of its largest process
  std::uint32_t checks = 0, checks_passed = 0;
  std::uint32_t first_failed = 0;  ///< number of the first check that did not pass, from 1; 0 where
                                   ///< none failed, or they never ran
  std::uint32_t by_program =
      0;  ///< statements of the checks in which the program compared two objects of its own:
          ///< nothing else can tell whether they are equal
};

struct Outcome {
  End end = End::sandbox_error;
  Tier tier = Tier::none;
  std::string out, err;  ///< up to Limits::output bytes each
  int exit = -1;         ///< exit status; 128 + signal where one ended it
  Counts counts;
  std::string reason;    ///< what ended it, where that is not its own exit
  bool starved = false;  ///< the wall clock ended it, and it had waited for processors that others
                         ///< used (usage.hpp): no property of the program
};

/// In Outcome::reason of a run that was starved, and of one among whose processes the kernel's
/// killer of memory may have chosen.
inline constexpr std::string_view kWasShort = "the machine was short of processors",
                                  kMemoryRanOut = "memory of the job or the machine ran out";
const char* name_of(End end);
const char* name_of(Tier tier);

/// The sandbox of this process. Its spawner is forked here: call before MPI_Init, LibTorch and any
/// thread. Ends with this process, however that ends.
class Sandbox {
 public:
  explicit Sandbox(const Setup& setup);
  ~Sandbox();
  Sandbox(Sandbox&&) noexcept;
  Sandbox& operator=(Sandbox&&) = delete;

  /// From any thread; waits for a free worker. Never throws on what the program does: a worker that
  /// fails costs this run alone (End::sandbox_error).
  Outcome run(const Program& program, std::string_view input = {}) const;
  const Setup& setup() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The one sandbox that a process shares. `start` once, in its first moment; `started` is null
/// before.
void start(const Setup& setup);
const Sandbox* started();

}  // namespace rollcall::sandbox
