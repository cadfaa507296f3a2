// Faults on purpose: every file call of a small run failed, and the disk after a power cut at every
// moment of it. Prints what was tried; exit code 1 when one was not survived.
#include "base/errors/error.hpp"
#include "base/files/file.hpp"
#include "faults/crash_states.hpp"
#include "faults/interpose.hpp"
#include "faults/small_run.hpp"
#include "io/sample_run.hpp"
#include "report/progress.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>

namespace rollcall::faults {
namespace {

namespace fs = std::filesystem;
using io::test::RunFolder;

constexpr int kShown = 10;  // failures told in full
constexpr std::array kFaults{Fault::eio, Fault::enospc, Fault::eintr, Fault::partial,
                             Fault::unsupported};

/// How a run begins: in an empty folder, or as the continuation of one that was killed and left a
/// half-written step.
struct Scenario {
  const char* name;
  Extent extent;
  int before;  ///< steps done when it begins
};
constexpr std::array kScenarios{Scenario{"fresh", {4, 2}, 0}, Scenario{"resumed", {5, 2}, 3}};

void prepare(const fs::path& run_dir, const Scenario& scenario) {
  if (scenario.before == 0) return;
  run_to_end(run_dir, {scenario.before, scenario.extent.pack_every});
  // of a step that no checkpoint covers
  io::test::write(run_dir, io::test::sample(99, std::uint64_t(scenario.before) + 1, 1));
  io::test::put(run_dir / "shards" / "train-half.h5.partial", "half");
  io::test::put(run_dir / "checkpoints" / ".partial-train_000009" / "model.safetensors", "half");
}

std::string undisturbed(const Scenario& scenario) {
  const RunFolder folder;
  prepare(folder, scenario);
  run_to_end(folder, scenario.extent);
  return outcome(folder);
}

struct Injection {
  std::uint64_t call = 0;
  Fault fault = Fault::eio;
  bool from_then_on = false;
};

/// What the child says to its parent.
struct Verdict {
  bool struck = false;
  char message[1000] = {};
};

/// The run with the fault, in a process of its own: HDF5 does not survive every failed write. Empty
/// when it behaved: it did all, or gave one clear error.
std::string strike(const fs::path& run_dir, const Extent& extent, const Injection& injection,
                   Verdict& verdict) {
  const pid_t child = ::fork();
  if (child == 0) {
    int code = 2;
    try {
      watch(run_dir);
      fail(injection.call, injection.fault, injection.from_then_on);
      run_to_end(run_dir, extent);
      code = 0;
    } catch (const Error& error) {
      code = 1;
      std::strncpy(verdict.message, error.what(), sizeof verdict.message - 1);
    } catch (const fs::filesystem_error& error) {  // names its file; the program ends on it as on
                                                   // an error of ours
      code = 1;
      std::strncpy(verdict.message, error.what(), sizeof verdict.message - 1);
    } catch (const std::exception& error) {
      std::strncpy(verdict.message, error.what(), sizeof verdict.message - 1);
    }
    verdict.struck = struck();
    ::_exit(code);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (!WIFEXITED(status)) return fmt::format("it died of signal {}", WTERMSIG(status));
  if (WEXITSTATUS(status) == 2) return fmt::format("not an error of ours: {}", verdict.message);
  if (WEXITSTATUS(status) == 1 && std::strstr(verdict.message, run_dir.c_str()) == nullptr)
    return fmt::format("the error names no file: {}", verdict.message);
  return {};
}

/// Counts the calls of a scenario, and how many places of the program they come from.
std::vector<Call> survey(const Scenario& scenario, std::uint64_t& places) {
  const RunFolder folder;
  prepare(folder, scenario);
  watch(folder.path());
  note_sites();
  run_to_end(folder, scenario.extent);
  const auto all = calls();
  places += sites().size();
  watch("");
  return all;
}

/// Every `stride`-th of all (call, fault, once or from then on).
int inject(std::uint64_t stride) {
  Verdict& verdict = *new (::mmap(nullptr, sizeof(Verdict), PROT_READ | PROT_WRITE,
                                  MAP_SHARED | MAP_ANONYMOUS, -1, 0)) Verdict;
  std::uint64_t number = 0, tried = 0, failures = 0, survived = 0, places = 0, all_calls = 0;
  std::map<std::string, int> by_kind;
  for (const Scenario& scenario : kScenarios) {
    const std::string expected = undisturbed(scenario);
    const RunFolder original;
    prepare(original, scenario);
    const auto sequence = survey(scenario, places);
    all_calls += sequence.size();
    report::Progress progress(fmt::format("calls of the {} run", scenario.name), 0,
                              std::int64_t(sequence.size()));
    for (std::uint64_t call = 0; call < sequence.size(); ++call) {
      for (std::size_t f = 0; f < 2 * kFaults.size(); ++f) {
        const Injection injection{call, kFaults[f / 2], f % 2 == 1};
        if (!applies(sequence[call], injection.fault) || number++ % stride != 0) continue;
        const RunFolder folder;
        fs::copy(original, folder, fs::copy_options::recursive);
        verdict = {};
        std::string fault = strike(folder, scenario.extent, injection, verdict);
        survived += verdict.message[0] == '\0';
        ++tried, ++by_kind[kCallNames[std::size_t(sequence[call])]];
        if (fault.empty() && !verdict.struck)
          fault = "the call was never made: the run is not the same twice";
        try {
          if (fault.empty()) run_to_end(folder, scenario.extent);
          if (fault.empty() && outcome(folder) != expected)
            fault = "the next start ended otherwise";
        } catch (const std::exception& error) {
          fault = fmt::format("the next start failed: {}", error.what());
        }
        if (!fault.empty() && ++failures <= kShown) {
          fmt::print("FAIL {} call {} ({}), {}{}: {}\n", scenario.name, call,
                     kCallNames[std::size_t(sequence[call])], kFaultNames[f / 2],
                     injection.from_then_on ? " from then on" : "", fault);
        }
      }
      progress.update(std::int64_t(call + 1), {{"failed", double(failures)}});
    }
  }
  for (const auto& [kind, count] : by_kind) fmt::print("  {:<10} {}\n", kind, count);
  fmt::print(
      "{} injections into {} calls from {} places: {} runs went on to their end, {} ended with one clear error and recovered at the next start, {} failed\n",
      tried, all_calls, places, survived, tried - survived - failures, failures);
  return failures == 0 ? 0 : 1;
}

std::uint64_t cut_power(const Scenario& scenario, std::uint64_t states, std::uint64_t seed) {
  constexpr std::uint64_t kToTheEnd = 50;  // one state in so many is not only opened: its run goes
                                           // on to the end
  const std::string expected = undisturbed(scenario);
  const RunFolder folder;
  watch(folder.path());
  record();
  prepare(folder, scenario);  // the power may fail before the second start as well
  run_to_end(folder, scenario.extent);
  const Disk disk(recorded());
  watch("");
  std::set<std::uint64_t> seen;
  std::uint64_t failures = 0, ended = 0;
  report::Progress progress(fmt::format("states of the {} run", scenario.name), 0,
                            std::int64_t(states));
  for (std::uint64_t i = 0; i < states; ++i) {
    progress.update(std::int64_t(i + 1), {{"failed", double(failures)}});
    const std::size_t count = i % (disk.operations() + 1);
    const std::uint64_t draw = i / (disk.operations() + 1);
    const DiskState state =
        disk.cut(count, draw, RandomStream(seed, RandomPurpose::test, count, draw));
    const int promised = disk.promised(count, "checkpoint");
    const bool fresh = seen.insert(state.hash() * 31 + std::uint64_t(promised)).second;
    if (!fresh) continue;  // what holds for a state holds for its equals
    const RunFolder after;
    std::string fault;
    try {
      state.put(after);
      const int found = recovered_steps(after);
      if (found < promised)
        fault = fmt::format("{} steps recovered, {} were promised", found, promised);
      if (fault.empty() && seen.size() % kToTheEnd == 0) {
        run_to_end(after, scenario.extent), ++ended;
        if (outcome(after) != expected) fault = "the run ended otherwise";
      }
    } catch (const std::exception& error) {
      fault = error.what();
    }
    if (!fault.empty() && ++failures <= kShown)
      fmt::print("FAIL {} cut behind operation {}, draw {}: {}\n", scenario.name, count, draw,
                 fault);
  }
  fmt::print("  {:<10} {} crash states of {} operations, {} distinct, {} of them run to the end\n",
             scenario.name, states, disk.operations(), seen.size(), ended);
  return failures;
}

/// A share of the states for every scenario.
int cut_power(std::uint64_t states, std::uint64_t seed) {
  std::uint64_t failures = 0;
  for (const Scenario& scenario : kScenarios)
    failures += cut_power(scenario, states / kScenarios.size(), seed);
  fmt::print("{} crash states: {} failed\n", states, failures);
  return failures == 0 ? 0 : 1;
}

int usage() {
  fmt::print(
      stderr,
      "usage: fault_trials inject STRIDE | states COUNT SEED | states-without-fsync COUNT SEED\n");
  return int(ExitCode::misconfigured);
}

}  // namespace
}  // namespace rollcall::faults

int main(int argc, char** argv) {
  using namespace rollcall::faults;
  const std::string what = argc > 1 ? argv[1] : "";
  const auto number = [&](int i) { return std::strtoull(argv[i], nullptr, 10); };
  if (what == "inject" && argc == 3 && number(2) > 0) return inject(number(2));
  if (what == "states" && argc == 4) return cut_power(number(2), number(3));
  if (what == "states-without-fsync" && argc == 4) {
    forget_syncs();
    return cut_power(number(2), number(3));
  }
  return usage();
}
