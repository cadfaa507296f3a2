// What a node offers a rank: its cores and its memory.
#include "comm/node_groups.hpp"
#include "comm/node_rendezvous.hpp"

#include <fmt/format.h>

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <vector>

namespace rollcall::comm {

namespace {

/// The CPUs in this process's affinity mask, ascending.
std::vector<int> own_cpus() {
  // The mask of a node with more than 1,024 CPUs does not fit in a cpu_set_t. The kernel answers
  // EINVAL until the set is large enough.
  for (int cpus = 1024; cpus <= (1 << 20); cpus *= 2) {
    const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> mask(
        CPU_ALLOC(cpus), [](cpu_set_t* set) { CPU_FREE(set); });
    const std::size_t bytes = CPU_ALLOC_SIZE(cpus);
    if (sched_getaffinity(0, bytes, mask.get()) != 0) continue;
    std::vector<int> own;
    for (int cpu = 0; cpu < cpus; ++cpu) {
      if (CPU_ISSET_S(std::size_t(cpu), bytes, mask.get())) own.push_back(cpu);
    }
    return own;
  }
  std::vector<int> all(std::size_t(std::max(sysconf(_SC_NPROCESSORS_ONLN), 1L)));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

}  // namespace

std::string number_ranges(const std::vector<int>& numbers) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    if (!text.empty()) text += ",";
    text +=
        i == last ? fmt::format("{}", numbers[i]) : fmt::format("{}-{}", numbers[i], numbers[last]);
    i = last + 1;
  }
  return text;
}

int cores_available() { return int(own_cpus().size()); }

int cores_together(Communicator& ranks) {
  const auto own = own_cpus();
  std::set<int> all;
  for (const auto& bytes :
       ranks.gather_all({reinterpret_cast<const char*>(own.data()), own.size() * sizeof(int)})) {
    std::vector<int> cpus(bytes.size() / sizeof(int));
    std::memcpy(cpus.data(), bytes.data(), bytes.size());
    all.insert(cpus.begin(), cpus.end());
  }
  return int(all.size());
}

namespace {

/// Bytes that the processes of a control group may still use. File pages that the kernel can drop
/// count as free. Without a limit, the largest number.
std::uint64_t left_in_group(const std::filesystem::path& group, bool unified) {
  std::uint64_t limit = 0, used = 0, file = 0;
  // The file holds "max" if there is no limit.
  if (!(std::ifstream(group / (unified ? "memory.max" : "memory.limit_in_bytes")) >> limit))
    return std::numeric_limits<std::uint64_t>::max();
  std::ifstream(group / (unified ? "memory.current" : "memory.usage_in_bytes")) >> used;
  std::ifstream statistics(group / "memory.stat");
  for (std::string name, value; statistics >> name >> value;) {
    if (name == (unified ? "inactive_file" : "total_inactive_file")) file = std::stoull(value);
  }
  return limit - std::min(limit, used - std::min(used, file));
}

/// Bytes that Slurm grants the job on this node, by --mem or --mem-per-cpu. A site does not have to
/// enforce them by a control group.
std::uint64_t slurms_limit() {
  const auto number = [](const char* name) {
    const char* const text = std::getenv(name);
    std::uint64_t value = 0;
    if (text != nullptr) std::from_chars(text, text + std::strlen(text), value);
    return value;
  };
  const std::uint64_t per_node = number("SLURM_MEM_PER_NODE"),
                      per_cpu = number("SLURM_MEM_PER_CPU"),
                      mib = per_node > 0 ? per_node : per_cpu * number("SLURM_CPUS_ON_NODE");
  return mib == 0 || mib >= std::numeric_limits<std::uint64_t>::max() >> 20
             ? std::numeric_limits<std::uint64_t>::max()
             : mib << 20;
}

}  // namespace

std::uint64_t memory_available() {
  std::uint64_t least = slurms_limit();
  std::ifstream system("/proc/meminfo");
  std::uint64_t kib = 0;
  for (std::string name, rest; system >> name >> kib; std::getline(system, rest)) {
    if (name == "MemAvailable:") least = std::min(least, kib << 10);
  }
  // The limits of all parents of a control group count as well. A line is "0::/path" (version 2) or
  // "9:cpu,memory:/path".
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const bool unified = second == first + 1;
    if (!unified &&
        fmt::format(",{},", line.substr(first + 1, second - first - 1)).find(",memory,") ==
            std::string::npos)
      continue;
    const std::filesystem::path root = unified ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory";
    for (auto group = std::filesystem::path(line.substr(second + 1)).relative_path();;
         group = group.parent_path()) {
      least = std::min(least, left_in_group(root / group, unified));
      if (group.empty()) break;
    }
  }
  return least;
}

int fair_cores(const std::vector<std::vector<int>>& cpus, std::size_t rank) {
  std::map<int, int> sharers;
  for (const auto& mask : cpus)
    for (const int cpu : mask) ++sharers[cpu];
  double cores = 1e-6;  // compensates rounding: three thirds add up to a little less than 1
  for (const int cpu : cpus.at(rank)) cores += 1.0 / sharers[cpu];
  return std::max(1, int(cores));
}

NodeShare node_share(Communicator& world, Communicator& node) {
  const std::uint64_t memory = memory_available();  // before another rank of the node uses any
  const auto host = world.split_by_host();
  const auto own = own_cpus();
  std::vector<std::vector<int>> cpus;
  for (const auto& bytes :
       host->gather_all({reinterpret_cast<const char*>(own.data()), own.size() * sizeof(int)})) {
    std::memcpy(cpus.emplace_back(bytes.size() / sizeof(int)).data(), bytes.data(), bytes.size());
  }
  NodeShare share{
      host->size(), fair_cores(cpus, std::size_t(host->rank())), {}, lowest_on_node(world, node)};
  for (const auto& text : world.gather_all(fmt::format("{}", memory / std::uint64_t(host->size()))))
    share.memory.push_back(std::stoull(text));
  return share;
}

std::vector<std::string> rank_map(Communicator& world) {
  char host[256] = "unknown";
  ::gethostname(host, sizeof host - 1);
  const auto places = world.gather_all(fmt::format("{}\n{}", host, number_ranges(own_cpus())));
  std::vector<std::string> lines;
  std::string node_before;
  for (int first = 0, last = 0; first < int(places.size()); first = last + 1) {
    const std::string& place = places[std::size_t(first)];
    for (last = first; last + 1 < int(places.size()) && places[std::size_t(last) + 1] == place;)
      ++last;
    const auto end = place.find('\n');
    const std::string node = place.substr(0, end),
                      ranks = first == last ? fmt::format("rank {}", first)
                                            : fmt::format("ranks {}-{}", first, last);
    const std::string text = fmt::format("{} on cores {}", ranks, place.substr(end + 1));
    if (node == node_before) lines.back() += ", " + text;
    else lines.push_back(fmt::format("{}: {}", node, text));
    node_before = node;
  }
  return lines;
}

}  // namespace rollcall::comm
