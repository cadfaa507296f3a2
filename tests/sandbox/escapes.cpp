// The escape suite: every attack first outside, where it must succeed unless this machine lacks
// what it needs, then in the sandbox, where it must not.
// usage: escapes [namespaces | landlock] [REPEATS] [PART OF A NAME]     the tier; landlock: user
// namespaces are forbidden first. Exit 77: no such tier here
#include "attacks/attack.hpp"
#include "bait.hpp"
#include "sandbox/confinement.hpp"

#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>

namespace {

using namespace rollcall::sandbox;
using namespace rollcall::sandbox::attacks;

enum class Aim { status, outlive };

/// Runs an attack as nobody should: unconfined, but in mount, host name and IPC namespaces that it
/// may spoil, where it has the right to spoil any (Need shelter). Its parent may be killed, so it
/// tells by a pipe.
bool succeeds_outside(const Attack& attack, Aim aim, const std::string& input) {
  int told[2];
  if (::pipe(told) != 0) return false;
  const pid_t outer = ::fork();
  if (outer == 0) {
    const std::string folder = Bait::parse(input).folder + "/work";
    std::filesystem::create_directory(folder);
    const pid_t inner = ::fork();
    if (inner == 0) {
      ::close(told[0]);
      if (::unshare(CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC) == 0)
        (void)::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
      std::string output;
      const char verdict =
          ::chdir(folder.c_str()) == 0 && attack.run(input, output) == 0 ? 'y' : 'n';
      (void)!::write(told[1], &verdict, 1);
      ::_exit(0);
    }
    ::waitpid(inner, nullptr, 0);
    ::_exit(0);
  }
  ::close(told[1]);
  char verdict = 'n';
  pollfd waits{told[0], POLLIN, 0};  // not for ever: what is left behind may hold the pipe and tell
                                     // nothing
  if (::poll(&waits, 1, aim == Aim::outlive ? 1000 : 20000) == 1 &&
      ::read(told[0], &verdict, 1) != 1)
    verdict = 'n';
  ::close(told[0]);
  ::waitpid(outer, nullptr, 0);
  std::filesystem::remove_all(Bait::parse(input).folder + "/work");
  return verdict == 'y';
}

/// Goes on in a process whose number no sandboxed run, each with numbers of its own from 1, can
/// meet by chance: attacks that name the host's would hit their own.
void leave_low_numbers() {
  constexpr pid_t kHigh = 300;  // every Linux counts so far
  while (::getpid() < kHigh) {
    const pid_t next = ::fork();
    if (next < 0) throw std::runtime_error("no process");
    if (next == 0 && ::getpid() < kHigh) ::_exit(0);
    if (next == 0) return;
    int status = 0;
    ::waitpid(next, &status, 0);
    if (next >= kHigh) ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
  }
}

bool left_behind() {
  const std::string name = left_behind_by(::getpid());
  const auto found = processes_named(name);
  for (const pid_t pid : found) ::kill(pid, SIGKILL);
  // the next look must not take these for its own
  while (!found.empty() && !processes_named(name).empty()) ::usleep(1000);
  return !found.empty();
}

/// What attacks from inside may not have changed.
std::string traces(const Bait& bait) {
  std::string all;
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(bait.folder))
    names.insert(entry.path().filename().string());
  for (const auto& name : names) all += name + " ";
  std::ifstream open(bait.open());
  std::string content;
  std::getline(open, content);
  return all + content + " " +
         std::to_string(std::filesystem::last_write_time(bait.open()).time_since_epoch().count());
}

struct Tally {
  int attacks = 0, escapes = 0, blunt = 0, broken = 0;
  std::map<std::string, int> lacking;  ///< attacks that show nothing here, by what the machine
                                       ///< lacks
};

/// What the second tier does not hold back, as src/sandbox/README.md says: it shows names, sizes
/// and times of files, and limits each file but not all of them.
constexpr std::array kAllowedBehindLandlock = {"learn that a file exists", "many files",
                                               "many large files"};

/// Whether it got what it wanted; some have to be quick, which a busy machine does not always let
/// them.
bool succeeds_outside_at_last(const Attack& attack, Aim aim, const std::string& input) {
  for (int attempt = 0; attempt < 5; ++attempt) {
    const bool said = succeeds_outside(attack, aim, input);
    if (aim == Aim::status && said) return true;
    for (int wait = 0; aim == Aim::outlive && wait < 100; ++wait, ::usleep(10000)) {
      if (left_behind()) return true;
    }
  }
  return false;
}

std::string shown_outside(const Attack& attack, Aim aim, const std::string& input, Tally& tally) {
  std::vector<Need> needs{shelter()};
  needs.insert(needs.end(), attack.needs.begin(), attack.needs.end());
  if (const std::string lacking = absent(needs); !lacking.empty()) {
    ++tally.lacking[lacking];
    return "not run, for want of " + lacking;
  }
  if (succeeds_outside_at_last(attack, aim, input)) return "succeeds";
  ++tally.blunt;
  return "FAILS, though all that it needs is there";
}

void judge(const Sandbox& sandbox, Tier tier, const LaidBait& laid, const Attack& attack, Aim aim,
           int repeats, Tally& tally) {
  const std::string input = laid.bait().text();
  const std::string outside = shown_outside(attack, aim, input, tally);
  const std::string before = traces(laid.bait());
  int escapes = 0, broken = 0;
  for (int i = 0; i < repeats; ++i) {
    const Outcome outcome = sandbox.run(function(attack.run), input);
    const bool status = aim == Aim::status && outcome.end == End::passed;
    escapes += status || left_behind() || traces(laid.bait()) != before ? 1 : 0;
    if (outcome.end != End::sandbox_error && outcome.tier == tier) continue;
    ++broken;
    std::printf("  tier %s: %s\n", name_of(outcome.tier), outcome.reason.c_str());
  }
  const bool allowed = tier == Tier::landlock &&
                       std::find(kAllowedBehindLandlock.begin(), kAllowedBehindLandlock.end(),
                                 std::string_view(attack.name)) != kAllowedBehindLandlock.end();
  ++tally.attacks;
  // a list that says too much is as wrong as one that says too little
  tally.escapes += !allowed ? escapes : escapes == 0 ? 1 : 0;
  tally.broken += broken;
  std::printf("%-44s %3d/%d %s; outside: %s%s\n", attack.name, escapes, repeats,
              allowed ? "allowed by this tier" : "escapes", outside.c_str(),
              broken > 0 ? "; SANDBOX BROKEN" : "");
}

/// Why the tier cannot be tried here; for the second one, user namespaces are forbidden from here
/// on.
std::optional<std::string> untried(Tier tier) {
  if (tier == Tier::namespaces) {
    const std::string lacking = absent({processes(8), user_namespaces(), limited_id()});
    return lacking.empty() ? std::nullopt : std::optional("this machine lacks " + lacking);
  }
  if (!landlock_is_complete()) return "the kernel has no Landlock, or one that is too old";
  if (::unshare(CLONE_NEWUSER) == 0) std::ofstream("/proc/sys/user/max_user_namespaces") << 0;
  if (give_up_capabilities() != 0)
    return "the capabilities that making a user namespace gave cannot be given up";
  ::prctl(PR_SET_DUMPABLE, 1);  // as a plain user's program is, which that took away
  return absent({user_namespaces()}).empty()
             ? std::optional("user namespaces cannot be forbidden here")
             : std::nullopt;
}

}  // namespace

int main(int argc, char** argv) {
  const Tier tier = argc > 1 && std::string_view(argv[1]) == name_of(Tier::landlock)
                        ? Tier::landlock
                        : Tier::namespaces;
  const int repeats = argc > 2 ? std::atoi(argv[2]) : 1;
  leave_low_numbers();
  if (const auto reason = untried(tier)) {
    std::printf("tier %s: not tried, since %s\n", name_of(tier), reason->c_str());
    return 77;
  }
  Setup setup;
  setup.workers = 1;
  setup.allow_landlock = tier == Tier::landlock;
  setup.limits = {.cpu_s = 2,
                  .wall_s = 10,
                  .memory = 128 << 20,
                  .output = 1 << 16,
                  .files = 16 << 20,
                  .processes = 12};
  const LaidBait laid;
  const Sandbox sandbox(setup);
  Tally tally;
  const auto run = [&](const std::vector<Attack>& attacks, Aim aim) {
    for (const Attack& attack : attacks) {
      if (argc <= 3 || std::strstr(attack.name, argv[3]) != nullptr)
        judge(sandbox, tier, laid, attack, aim, repeats, tally);
    }
  };
  for (const auto& attacks :
       {on_files(), on_mounts(), on_network(), on_processes(), on_kernel(), on_resources()})
    run(attacks, Aim::status);
  run(outliving(), Aim::outlive);
  for (const auto& [lacking, count] : tally.lacking)
    std::printf("%3d attacks show nothing here for want of %s\n", count, lacking.c_str());
  std::printf(
      "%d attacks x %d, tier %s: %d escapes, %d that should succeed outside and do not, %d runs without an outcome\n",
      tally.attacks, repeats, name_of(tier), tally.escapes, tally.blunt, tally.broken);
  return tally.attacks > 0 && tally.escapes + tally.blunt + tally.broken == 0 ? 0 : 1;
}
