// Runs untrusted code: takes a program and its input, and returns its outcome as a value. Nothing
// that the program does outlives the run or is visible outside.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rollcall::sandbox {

/// The resources that a run may use. The counted limits are meant to decide. The wall-clock limit
/// is a guard, and an outcome says if it ended the run.
struct Limits {
  std::int64_t cpu_s = 5;  ///< processor time of each process, whole seconds (RLIMIT_CPU)
  double wall_s = 20;      ///< seconds from the start of the run until it is killed
  std::uint64_t memory = 512ULL << 20;  ///< bytes of address space of each process
  std::uint64_t output = 1ULL << 20;    ///< bytes of standard output and of standard error, each
  std::uint64_t files = 32ULL << 20;    ///< bytes in /tmp, and in any one file
  std::int64_t processes = 16;          ///< processes and threads at any one time
  bool operator==(const Limits&) const = default;
};

/// The confinement of a run. `namespaces` uses user, mount, pid, network, IPC, UTS and cgroup
/// namespaces, a minimal read-only root, and seccomp. `landlock`, for sites that forbid user
/// namespaces, uses only Landlock and seccomp: the program is a single process that can start no
/// other and send no signals, but it sees file names and its user's ids.
enum class Tier : std::uint8_t { none, namespaces, landlock };

struct Setup {
  Limits limits{};
  bool allow_landlock = false;  ///< whether the second tier may be used if the first cannot
  int workers = 2;              ///< started in advance; further runs at the same time wait for one
};

/// A function of this program: `output` becomes the run's standard output, the returned value its
/// exit status. It must be linked into the program, not loaded later.
using Function = int (*)(std::string_view input, std::string& output);

/// Python code, a command or a function.
struct Program {
  enum class Kind : std::uint8_t { python, command, function };
  Kind kind = Kind::command;
  std::string code;  ///< python: the source of __main__, run in a fork of a warm interpreter
  /// python: statements about the code's names, run in their own process (python/checks.py). Each
  /// assert at their top level is a test.
  std::string checks;
  std::vector<std::string> argv;  ///< command: its words; the first is looked up in /usr/bin and
                                  ///< /bin if it has no slash
  /// command: files in its working folder, each as a name without a slash and the content
  std::vector<std::pair<std::string, std::string>> files;
  Function function = nullptr;
};

Program python(std::string code, std::string checks = {});
Program command(std::vector<std::string> argv,
                std::vector<std::pair<std::string, std::string>> files = {});
Program function(Function f);

/// The way in which a run ended. `passed`: exit status 0 and, if there are checks, all of them
/// passed. `failed`: another status or a failed check. `crashed`: ended by a signal that no limit
/// sent. `sandbox_error`: nothing is known about the program, and Outcome::reason says why.
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
  /// processor time of the program and of the children that it waited for
  std::uint64_t cpu_us = 0;
  std::uint64_t peak_memory = 0;  ///< resident bytes of its largest process
  std::uint32_t checks = 0, checks_passed = 0;
  /// Number of the first check that did not pass, from 1; 0 if no check failed or none ran.
  std::uint32_t first_failed = 0;
  std::uint32_t by_program =
      0;  ///< statements in the checks in which the program compared two of its own objects, so
          ///< that only the program itself decides whether they are equal
};

struct Outcome {
  End end = End::sandbox_error;
  Tier tier = Tier::none;
  std::string out, err;  ///< up to Limits::output bytes each
  int exit = -1;         ///< exit status; 128 + signal if a signal ended it
  Counts counts;
  std::string reason;  ///< why it was ended or which check failed; otherwise empty
  /// The wall-clock limit ended the run while it was waiting for processors that others used
  /// (usage.hpp), so the ending says nothing about the program.
  bool starved = false;
};

/// Parts of Outcome::reason: for a starved run, and for a run in which the kernel's out-of-memory
/// killer may have chosen a process.
inline constexpr std::string_view kWasShort = "the machine was short of processors",
                                  kMemoryRanOut = "memory of the job or the machine ran out";
const char* name_of(End end);
const char* name_of(Tier tier);

/// The sandbox of this process. Its spawner is forked in the constructor, so construct it before
/// MPI_Init, LibTorch and any thread. All its processes end with this process, no matter how this
/// one ends.
class Sandbox {
 public:
  explicit Sandbox(const Setup& setup);
  ~Sandbox();
  Sandbox(Sandbox&&) noexcept;
  Sandbox& operator=(Sandbox&&) = delete;

  /// Runs a program; may be called from any thread, and waits for a free worker. It never throws
  /// because of the program. If a worker fails, only this run is lost (End::sandbox_error).
  Outcome run(const Program& program, std::string_view input = {}) const;
  const Setup& setup() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The one sandbox that the whole process uses. start() is called once, before anything else;
/// started() is null before that.
void start(const Setup& setup);
const Sandbox* started();

}  // namespace rollcall::sandbox
