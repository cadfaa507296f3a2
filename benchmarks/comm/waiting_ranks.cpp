// What messages and waiting cost between processes of one node. Start it under mpirun with 2 or
// more ranks; rank 0 prints one line per question.
#include "comm/communicator.hpp"

#include "base/errors/error.hpp"
#include "base/time/clock.hpp"

#include <fmt/format.h>

#include <sys/resource.h>

#include <algorithm>
#include <vector>

namespace {

using namespace rollcall;
using comm::Communicator;

double cpu_s() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](timeval t) { return double(t.tv_sec) + 1e-6 * double(t.tv_usec); };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

void print(Communicator& world, const std::string& question, double value, const char* unit) {
  if (world.rank() == 0) fmt::print("{:<58} {:>12.4g} {}\n", question, value, unit);
}

template <class Act>
double median_s(int repeats, Act act) {
  std::vector<double> seconds;
  for (int i = 0; i < repeats; ++i) {
    const Stopwatch watch;
    act();
    seconds.push_back(watch.seconds());
  }
  std::nth_element(seconds.begin(), seconds.begin() + repeats / 2, seconds.end());
  return seconds[std::size_t(repeats / 2)];
}

void round_trip(Communicator& world, std::size_t bytes, int repeats) {
  world.barrier();
  const std::string ball(bytes, 'b');
  double s = 0;
  if (world.rank() == 0) {
    s = median_s(repeats, [&] {
      world.send(1, 1, ball);
      receive(world, 60, "the ball");
    });
  } else if (world.rank() == 1) {
    for (int i = 0; i < repeats; ++i) world.send(0, 1, receive(world, 60, "the ball").bytes);
  }
  print(world, fmt::format("round trip of {} bytes, median", bytes), s * 1e6, "us");
}

void message_rate(Communicator& world, int messages) {
  world.barrier();
  const Stopwatch watch;
  if (world.rank() == 1) {
    for (int i = 0; i < messages; ++i) world.send(0, 1, std::string(200, 'm'));
    receive(world, 60, "the receipt");
  } else if (world.rank() == 0) {
    for (int i = 0; i < messages; ++i) receive(world, 60, "a message");
    world.send(1, 2, "");
  }
  print(world, "messages of 200 bytes, one way", messages / watch.seconds(), "1/s");
}

void collectives(Communicator& world) {
  std::vector<std::int64_t> values(1 << 20, 1);
  world.barrier();
  const double barrier = median_s(200, [&] { world.barrier(); });
  print(world, "barrier, median", barrier * 1e6, "us");
  const double small = median_s(200, [&] { world.sum(std::span(values).first(8)); });
  print(world, "sum of 8 int64, median", small * 1e6, "us");
  const double sum = median_s(9, [&] { world.sum(values); });
  print(world, "sum of 8 MiB of int64, median", sum * 1e3, "ms");
  const double cast =
      median_s(9, [&] { world.broadcast(std::as_writable_bytes(std::span(values)), 0); });
  print(world, "broadcast of 8 MiB, median", cast * 1e3, "ms");
}

/// The last rank comes one second late; what do the others burn until then?
void waiting(Communicator& world) {
  const auto late = [&](const char* where, auto wait) {
    world.barrier();
    const double before = cpu_s();
    if (world.rank() == world.size() - 1) {
      timespec second{1, 0};
      nanosleep(&second, nullptr);
    }
    wait();
    const double burnt = cpu_s() - before;
    print(world, fmt::format("CPU time of a rank that waits 1 s in {}", where), burnt * 1e3, "ms");
  };
  late("a collective", [&] { world.barrier(); });
  late("receive", [&] {
    const int last = world.size() - 1;
    for (int to = 0; world.rank() == last && to < last; ++to) world.send(to, 1, "");
    if (world.rank() != last) receive(world, 60, "the late one");
  });
}

/// Rank 0 computes while all others wait for it. Its CPU time over its wall time is the share of a
/// core that they leave it.
void work_beside_waiting_ranks(Communicator& world) {
  world.barrier();
  const double before = cpu_s();
  const Stopwatch watch;
  volatile double x = 1;
  if (world.rank() == 0) {
    while (watch.seconds() < 1) x = x * 1.0000001 + 1e-9;
  }
  print(world, "share of a core that a rank gets while the others wait",
        100 * (cpu_s() - before) / watch.seconds(), "%");
  world.barrier();
}

}  // namespace

int main(int argc, char** argv) {
  const comm::MpiScope mpi(&argc, &argv);
  const auto world = mpi.world();
  if (world->size() < 2) {
    fmt::print(stderr,
               "one rank has nobody to talk to; start at least two: mpirun -n 2 bench_comm\n");
    return int(ExitCode::misconfigured);
  }
  print(*world, fmt::format("ranks ({})", comm::MpiScope::library_version()), world->size(), "");
  round_trip(*world, 200, 2000);
  round_trip(*world, 100'000, 300);
  round_trip(*world, 4 << 20, 20);
  message_rate(*world, 20000);
  collectives(*world);
  waiting(*world);
  work_beside_waiting_ranks(*world);
  return 0;
}
