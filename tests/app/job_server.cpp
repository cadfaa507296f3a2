// Runs jobs one after another in the ranks that a launcher started once: for tests that compare
// what many short runs end with, where loading LibTorch takes longer than a run. A job is a line of
// standard input, {"run_file", "assignments", "resume", "start_if_none"}; each ends with a line
// "exit code N" on standard output.
#include "app/commands.hpp"
#include "app/runs/job_world.hpp"
#include "app/tools/start_sandbox.hpp"
#include "base/errors/error.hpp"
#include "base/text/json.hpp"
#include "run/rank.hpp"

#include <chrono>
#include <cstdio>
#include <exception>
#include <iostream>
#include <string>
#include <thread>

namespace {

using namespace rollcall;

constexpr int kJob = 1 << 20;  // no tag of the stages

std::string version() { return "rollcall " ROLLCALL_VERSION; }

run::Start start_of(const nlohmann::json& asked) {
  if (!asked.at("resume").get<bool>()) return run::Start::fresh;
  return asked.at("start_if_none").get<bool>() ? run::Start::resume_or_fresh : run::Start::resume;
}

/// The next line of rank 0's standard input on every rank, empty at its end. Ranks that wait sleep:
/// the cores belong to other tests meanwhile.
std::string next_line(comm::Communicator& world) {
  std::string line;
  if (world.rank() == 0) {
    std::getline(std::cin, line);
    for (int rank = 1; rank < world.size(); ++rank) world.send(rank, kJob, line);
    return line;
  }
  for (;;) {
    if (auto message = world.try_receive()) {
      expect(message->tag == kJob, "the job before has left no message");
      return message->bytes;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

void serve(comm::Communicator& world, reward::Spawner& spawner, reward::Spawner& environment) {
  for (std::string line; !(line = next_line(world)).empty();) {
    const auto asked = nlohmann::json::parse(line);
    const run::JobRequest request{
        .kind = run::JobKind::train,
        .run_file = asked.at("run_file").get<std::string>(),
        .assignments = asked.at("assignments").get<std::vector<std::string>>(),
        .start = start_of(asked),
        .binary_version = version,
        .evaluate = {},
        .spawner = &spawner,
        .environment_spawner = &environment};
    const int code = int(run::run_job(world, request));
    world.barrier();  // no job's message reaches a rank that is still in the one before
    if (world.rank() == 0) std::cout << "exit code " << code << std::endl;
  }
}

}  // namespace

int main(int argc, char** argv) {
  reward::Spawner spawner, environment;  // these fork, so they come first
  try {
    app::start_sandbox(SandboxSection{});
  } catch (const EnvironmentError& error) {  // most tasks run no code
    std::fprintf(stderr, "job_server: %s\n", error.what());
  }
  const app::JobWorld world({argc, argv});
  try {
    serve(world.communicator(), spawner, environment);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "job_server: %s\n", error.what());
    world.communicator().abort(3);
  }
  return 0;
}
