// Reads files in /proc from inside the confinement, through a descriptor of the folder.
#include "sandbox/usage.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <vector>

namespace rollcall::sandbox {
namespace {

std::string read_all(int descriptor) {
  std::string all;
  std::array<char, 4096> part{};
  for (ssize_t size = 1; size > 0; all.append(part.data(), std::size_t(size)))
    size = std::max<ssize_t>(0, ::pread(descriptor, part.data(), part.size(), off_t(all.size())));
  return all;
}

/// The content of a file below /proc; empty if the process has ended or /proc does not show it.
std::string read_file(const Outside& outside, const std::string& path) {
  const int file = ::openat(outside.processes, path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  std::string text = read_all(file);
  ::close(file);
  return text;
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

/// The words of the line of /proc/PID/status that begins with `key`.
std::vector<std::string> line_of(const std::string& status, std::string_view key) {
  const std::size_t at = status.find(fmt::format("\n{}:", key));
  if (at == std::string::npos) return {};
  const std::size_t begin = at + key.size() + 2;
  return words_of(status.substr(begin, status.find('\n', begin) - begin));
}

std::uint64_t kib_of(const std::string& status, std::string_view key) {
  const auto words = line_of(status, key);
  return words.empty() ? 0 : std::stoull(words.front());
}

std::vector<std::string> threads_of(const Outside& outside, const std::string& process) {
  std::vector<std::string> all;
  const int folder =
      ::openat(outside.processes, (process + "/task").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* open = folder < 0 ? nullptr : ::fdopendir(folder);
  if (open == nullptr) return all;
  while (const dirent* entry = ::readdir(open)) {
    if (entry->d_name[0] != '.') all.push_back(process + "/task/" + entry->d_name);
  }
  ::closedir(open);
  return all;
}

std::vector<std::string> children_of(const Outside& outside, const std::string& process) {
  std::vector<std::string> all;
  for (const auto& thread : threads_of(outside, process)) {
    for (auto& child : words_of(read_file(outside, thread + "/children")))
      all.push_back(std::move(child));
  }
  return all;
}

/// The number in /proc of a child or grandchild of the worker, which the worker knows as `pid`.
std::string find(const Outside& outside, pid_t pid) {
  // NSpid lists a process's number in each namespace, from that of /proc down to the worker's own,
  // whose index in the list is `level`.
  const std::size_t level = line_of(read_file(outside, outside.worker + "/status"), "NSpid").size();
  if (level == 0) return {};
  auto near = children_of(outside, outside.worker);
  for (std::size_t at = 0, children = near.size(); at < near.size(); ++at) {
    const auto numbers = line_of(read_file(outside, near[at] + "/status"), "NSpid");
    if (numbers.size() >= level && numbers[level - 1] == std::to_string(pid)) return near[at];
    if (at >= children) continue;
    for (auto& grandchild : children_of(outside, near[at])) near.push_back(std::move(grandchild));
  }
  return {};
}

void add_times(Usage& usage, const std::string& schedstat) {
  std::istringstream in(schedstat);
  double ran_ns = 0, waited_ns = 0;
  in >> ran_ns >> waited_ns;
  usage.cpu_s += ran_ns * 1e-9;
  usage.waited_s = std::max(usage.waited_s, waited_ns * 1e-9);
}

}  // namespace

Outside look_outside() {
  Outside outside;
  std::array<char, 64> number{};
  outside.processes = ::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (::readlink("/proc/self", number.data(), number.size() - 1) > 0)
    outside.worker = number.data();
  outside.pressure = ::open("/proc/pressure/cpu", O_RDONLY | O_CLOEXEC);
  return outside;
}

std::optional<Usage> usage_of(const Outside& outside, pid_t pid) {
  if (outside.processes < 0 || outside.worker.empty()) return std::nullopt;
  std::vector<std::string> family{find(outside, pid)};
  if (family.front().empty()) return std::nullopt;
  Usage usage;
  for (std::size_t at = 0; at < family.size(); ++at) {
    for (const auto& thread : threads_of(outside, family[at])) {
      add_times(usage, read_file(outside, thread + "/schedstat"));
      for (auto& child : words_of(read_file(outside, thread + "/children")))
        family.push_back(std::move(child));
    }
    const std::string status = read_file(outside, family[at] + "/status");
    usage.memory += (kib_of(status, "RssAnon") + kib_of(status, "RssShmem")) << 10;
    ++usage.processes;
  }
  return usage;
}

std::optional<double> pressure_of(const Outside& outside) {
  const std::string text = outside.pressure < 0 ? "" : read_all(outside.pressure);
  const std::size_t at = text.find("avg10=");
  return at == std::string::npos ? std::nullopt : std::optional(std::stod(text.substr(at + 6)));
}

Shortage shortage_of(const Waiting& waiting, double cpu_s, double cpu_limit_s, double wall_s) {
  if (waiting.usage)
    return {std::max(cpu_s, waiting.usage->cpu_s) < cpu_limit_s && waiting.waited_s >= wall_s / 2,
            "/proc/PID/schedstat"};
  if (waiting.waited_s >= wall_s / 2) return {cpu_s < cpu_limit_s, "the worker's own delay"};
  if (waiting.pressure)
    return {cpu_s < cpu_limit_s && *waiting.pressure >= 50.0, "/proc/pressure/cpu"};
  return {cpu_s < cpu_limit_s && cpu_s >= wall_s / 10, "its processor time alone"};
}

}  // namespace rollcall::sandbox
