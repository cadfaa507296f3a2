// fork, exec, and the tree of processes below the child.
#include "app/prove/child.hpp"

#include "base/errors/error.hpp"
#include "base/time/clock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fstream>
#include <map>
#include <thread>

namespace rollcall::app::prove {
namespace {

/// `root` and all processes below it, parents before children.
std::vector<pid_t> tree_of(pid_t root) {
  std::multimap<pid_t, pid_t> children;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const auto name = entry.path().filename().string();
    if (!std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; }))
      continue;
    std::ifstream file(entry.path() / "stat");
    std::string line;
    if (!std::getline(file, line)) continue;  // the process has ended
    const auto behind_name = line.rfind(')');
    if (behind_name == std::string::npos) continue;
    char state = 0;
    int parent = 0;
    if (std::sscanf(line.c_str() + behind_name + 1, " %c %d", &state, &parent) == 2)
      children.emplace(parent, std::stoi(name));
  }
  std::vector<pid_t> tree{root};
  for (std::size_t i = 0; i < tree.size(); ++i) {
    const auto [first, last] = children.equal_range(tree[i]);
    for (auto child = first; child != last; ++child) tree.push_back(child->second);
  }
  return tree;
}

}  // namespace

Child::Child(const std::vector<std::string>& words, const std::filesystem::path& log) {
  std::vector<char*> argv;
  for (const auto& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  require<EnvironmentError>(pid_ >= 0,
                            fmt::format("cannot start a process: {}", std::strerror(errno)),
                            "nothing can be proved without runs", "end other processes");
  if (pid_ > 0) return;
  // Only async-signal-safe functions may be called between fork and exec.
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(127);
  const int in = ::open("/dev/null", O_RDONLY),
            out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  if (in < 0 || out < 0 || ::dup2(in, 0) < 0 || ::dup2(out, 1) < 0 || ::dup2(out, 2) < 0)
    ::_exit(127);
  ::execvp(argv[0], argv.data());
  ::_exit(127);
}

Child::~Child() { kill_all(); }

int Child::wait(double seconds) {
  const Stopwatch clock;
  while (pid_ > 0) {
    int status = 0;
    if (::waitpid(pid_, &status, WNOHANG) == pid_) {
      code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
      pid_ = -1;
    } else if (clock.seconds() >= seconds) {
      return -1;
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  return code_;
}

void Child::kill_all() {
  if (pid_ <= 0) return;
  auto tree = tree_of(pid_);
  for (const pid_t pid : tree) ::kill(pid, SIGKILL);
  wait(60);
}

}  // namespace rollcall::app::prove
