// A control group's memory that runs out ends a run without a verdict on its program. Exit 77: none
// can be made here. Alone, since the kernel counts for the whole machine.
#include "sandbox/sandbox.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

namespace {

using namespace rollcall::sandbox;

/// One of 64 MiB: of version 1, or 2 where its parent hands memory on.
std::optional<std::string> small_group() {
  const std::string name = "rollcall-test-" + std::to_string(::getpid());
  for (const auto& [root, limit] : {std::pair{"/sys/fs/cgroup/memory/", "/memory.limit_in_bytes"},
                                    {"/sys/fs/cgroup/", "/memory.max"}}) {
    std::error_code refused;
    std::string folder = root + name;
    if (!std::filesystem::create_directory(folder, refused)) continue;
    if (std::filesystem::exists(folder + limit, refused) && std::ofstream(folder + limit)
                                                                << (64 << 20) << std::flush)
      return folder;
    ::rmdir(folder.c_str());
  }
  return std::nullopt;
}

/// What does not end as it should; empty: nothing.
std::string wrong(const Sandbox& sandbox) {
  const auto differs = [&](const char* code, End end, const std::string& reason) {
    const Outcome outcome = sandbox.run(python(code));
    if (outcome.end == end && outcome.reason == reason) return std::string();
    return std::string(code) + ": " + name_of(outcome.end) + ", " + outcome.reason + "\n";
  };
  return differs(
             "x = b'x' * (200 << 20)", End::sandbox_error,
             "memory of the job or the machine ran out: meanwhile the kernel ended 1 processes") +
         differs("x = bytearray(10**9)", End::out_of_memory,
                 "memory: 268435456 bytes") +  // beyond its own limit
         differs("x = 1 / 0", End::failed, "") +
         differs("x = b'x' * (8 << 20)", End::passed, "");
}

}  // namespace

int main() {
  const auto group = small_group();
  if (!group) {
    std::printf("no control group of memory can be made here\n");
    return 77;
  }
  const pid_t child = ::fork();
  if (child == 0) {
    std::ofstream(*group + "/cgroup.procs") << ::getpid() << std::flush;
    Setup setup;
    setup.workers = 1;
    setup.limits.memory = 256 << 20;
    const std::string problems = wrong(Sandbox(setup));
    std::printf("%s", problems.c_str());
    std::fflush(stdout);
    ::_exit(problems.empty() ? 0 : 1);
  }
  int status = 1;
  ::waitpid(child, &status, 0);
  // its last processes are being buried
  for (int i = 0; i < 200 && ::rmdir(group->c_str()) != 0; ++i) ::usleep(10000);
  return status == 0 ? 0 : 1;
}
