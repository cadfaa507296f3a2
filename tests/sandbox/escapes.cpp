// The escape suite: every attack first outside, where it must succeed (once each: nine of ten must), then in the sandbox, where it must not. usage: escapes [REPEATS] [PART OF A NAME] [landlock: where user namespaces are forbidden]
#include "attacks/attack.hpp"
#include "bait.hpp"

#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include <csignal>
#include <cstdio>
#include <set>
#include <stdexcept>

namespace {

using namespace rollcall::sandbox;
using namespace rollcall::sandbox::attacks;

enum class Aim { status, outlive };

/// Runs an attack as nobody should: unconfined, but in mount, host name and IPC namespaces that it may spoil. Its parent may be killed, so it tells by a pipe.
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
      const bool ready = ::unshare(CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC) == 0 && ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                         ::chdir(folder.c_str()) == 0;
      std::string output;
      const char verdict = ready && attack.run(input, output) == 0 ? 'y' : 'n';
      (void)!::write(told[1], &verdict, 1);
      ::_exit(0);
    }
    ::waitpid(inner, nullptr, 0);
    ::_exit(0);
  }
  ::close(told[1]);
  char verdict = 'n';
  pollfd waits{told[0], POLLIN, 0};  // not for ever: what is left behind may hold the pipe and tell nothing
  if (::poll(&waits, 1, aim == Aim::outlive ? 1000 : 20000) == 1 && ::read(told[0], &verdict, 1) != 1) verdict = 'n';
  ::close(told[0]);
  ::waitpid(outer, nullptr, 0);
  std::filesystem::remove_all(Bait::parse(input).folder + "/work");
  return verdict == 'y';
}

/// Goes on in a process whose number no sandboxed run, each with numbers of its own from 1, can meet by chance: attacks that name the host's would hit their own.
void leave_low_numbers() {
  constexpr pid_t kHigh = 1000;
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
  const auto found = processes_named(kLeftBehind);
  for (const pid_t pid : found) ::kill(pid, SIGKILL);
  while (!found.empty() && !processes_named(kLeftBehind).empty()) ::usleep(1000);  // the next look must not take these for its own
  return !found.empty();
}

/// What attacks from inside may not have changed.
std::string traces(const Bait& bait) {
  std::string all;
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(bait.folder)) names.insert(entry.path().filename().string());
  for (const auto& name : names) all += name + " ";
  std::ifstream open(bait.open());
  std::string content;
  std::getline(open, content);
  return all + content + " " + std::to_string(std::filesystem::last_write_time(bait.open()).time_since_epoch().count());
}

struct Tally {
  int attacks = 0, escapes = 0, harmless = 0, broken = 0;
};

void judge(const Sandbox& sandbox, const LaidBait& laid, const Attack& attack, Aim aim, int repeats, Tally& tally) {
  const std::string input = laid.bait().text();
  std::string outside = attack.unsafe_outside != nullptr ? attack.unsafe_outside : "succeeds";
  if (attack.unsafe_outside == nullptr && ::geteuid() == 0) {
    bool success = false;
    for (int attempt = 0; attempt < 3 && !success; ++attempt) {  // some have to be quick, which a busy machine does not always let them
      success = succeeds_outside(attack, aim, input);
      if (aim == Aim::outlive) {
        for (int wait = 0; wait < 100 && !(success = left_behind()); ++wait) ::usleep(10000);
      }
    }
    if (!success) outside = "fails outside too, so it shows nothing here";
    tally.harmless += success ? 0 : 1;
  }
  const std::string before = traces(laid.bait());
  int escapes = 0, broken = 0;
  for (int i = 0; i < repeats; ++i) {
    const Outcome outcome = sandbox.run(function(attack.run), input);
    const bool status = aim == Aim::status && outcome.end == End::passed;
    escapes += status || left_behind() || traces(laid.bait()) != before ? 1 : 0;
    broken += outcome.end == End::sandbox_error ? 1 : 0;
    if (outcome.end == End::sandbox_error) std::printf("  %s\n", outcome.reason.c_str());
  }
  ++tally.attacks;
  tally.escapes += escapes;
  tally.broken += broken;
  std::printf("%-44s %3d/%d escapes; outside: %s%s\n", attack.name, escapes, repeats, outside.c_str(), broken > 0 ? "; SANDBOX BROKEN" : "");
}

}  // namespace

int main(int argc, char** argv) {
  leave_low_numbers();
  const int repeats = argc > 1 ? std::atoi(argv[1]) : 1;
  Setup setup;
  setup.workers = 1;
  setup.allow_landlock = argc > 3;
  setup.limits = {.cpu_s = 2, .wall_s = 10, .memory = 128 << 20, .output = 1 << 16, .files = 16 << 20, .processes = 12};
  const LaidBait laid;
  const Sandbox sandbox(setup);
  Tally tally;
  const auto run = [&](const std::vector<Attack>& attacks, Aim aim) {
    for (const Attack& attack : attacks) {
      if (argc <= 2 || std::strstr(attack.name, argv[2]) != nullptr) judge(sandbox, laid, attack, aim, repeats, tally);
    }
  };
  for (const auto& attacks : {on_files(), on_mounts(), on_network(), on_processes(), on_kernel(), on_resources()}) run(attacks, Aim::status);
  run(outliving(), Aim::outlive);
  std::printf("%d attacks x %d: %d escapes, %d that fail outside too, %d runs without an outcome\n", tally.attacks, repeats, tally.escapes, tally.harmless,
              tally.broken);
  // What a machine lacks (a network, a privilege, a module) makes an attack harmless there. Tests run anywhere and let that pass for a few; the long form does not.
  const int excused = repeats == 1 ? tally.attacks / 10 : 0;
  return tally.escapes + tally.broken == 0 && tally.harmless <= excused ? 0 : 1;
}
