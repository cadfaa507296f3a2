// The loop of the small process: requests, and children that have ended. A process that leaves its
// group is found as a child of this process, which becomes its parent once its own parents end.
#include "reward/command/subreaper.hpp"

#include "base/process/uninterrupted.hpp"

#include <dirent.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace rollcall::reward {
namespace {

// A process that SIGKILL does not end is stuck in the kernel, mostly in a hanging file system. It
// is not waited for any longer than this.
constexpr int kReap_ms = 1000;

/// Sends a packet with up to three descriptors.
void send_answer(int socket, const Answer& answer, const std::array<int, 3>* fds) {
  iovec part{const_cast<Answer*>(&answer), sizeof answer};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(3 * sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part, message.msg_iovlen = 1;
  if (fds != nullptr) {
    message.msg_control = control.data(), message.msg_controllen = control.size();
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET, header->cmsg_type = SCM_RIGHTS,
    header->cmsg_len = CMSG_LEN(3 * sizeof(int));
    std::memcpy(CMSG_DATA(header), fds->data(), 3 * sizeof(int));
  }
  uninterrupted([&] { return ::sendmsg(socket, &message, MSG_NOSIGNAL); });
}

/// Everything below runs in the small process, whose only thread it is.
class Subreaper {
 public:
  explicit Subreaper(int socket) : socket_(socket) {}
  void run();

 private:
  struct Known {
    bool ended = false;
    int status = 0;
  };
  void start(const char* words, std::size_t bytes);
  void end(const Request& request);
  void reap();  ///< reaps children that have ended, and ends the rest of their groups
  /// Ends processes that have left their group; since their parents have ended, this process is
  /// their parent now.
  void end_adopted() const;
  bool await(pid_t pid, int longest_ms);
  void end_all();

  int socket_;
  std::map<pid_t, Known> known_;
};

[[noreturn]] void become(char** words, const std::array<int, 3>& ends, int failed) {
  ::setpgid(0, 0);
  for (int fd = 0; fd < 3; ++fd) ::dup2(ends[std::size_t(fd)], fd);  // dup2() clears close-on-exec
  for (int signal = 1; signal < NSIG; ++signal) std::signal(signal, SIG_DFL);
  // srun sends the signals that stop a job to every process of its step, but the verdict in
  // progress is to be finished.
  for (const int stop : {SIGUSR1, SIGHUP}) std::signal(stop, SIG_IGN);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::execvp(words[0], words);
  const int why = errno;
  (void)!::write(failed, &why, sizeof why);
  ::_exit(127);
}

void Subreaper::start(const char* words, std::size_t bytes) {
  std::vector<char*> list;
  for (const char* word = words; word < words + bytes; word += std::strlen(word) + 1)
    list.push_back(const_cast<char*>(word));
  list.push_back(nullptr);
  int in[2] = {-1, -1}, out[2] = {-1, -1}, err[2] = {-1, -1}, failed[2] = {-1, -1};
  Answer answer{};
  const bool piped = ::pipe2(in, O_CLOEXEC) == 0 && ::pipe2(out, O_CLOEXEC) == 0 &&
                     ::pipe2(err, O_CLOEXEC) == 0 && ::pipe2(failed, O_CLOEXEC) == 0;
  const pid_t pid = piped ? ::fork() : -1;
  if (pid == 0) become(list.data(), {in[0], out[1], err[1]}, failed[1]);
  if (pid < 0) answer.failure = errno;
  for (const int fd : {in[0], out[1], err[1], failed[1]})
    if (fd >= 0) ::close(fd);
  if (pid > 0) {
    ::setpgid(pid, pid);  // both parent and child do this, whichever comes first
    if (uninterrupted([&] { return ::read(failed[0], &answer.failure, sizeof answer.failure); }) <=
        0)
      answer.failure = 0;
    if (answer.failure != 0) uninterrupted([&] { return ::waitpid(pid, nullptr, 0); });
    else known_[pid] = {}, answer.pid = pid;
  }
  const std::array<int, 3> ends{in[1], out[0], err[0]};
  send_answer(socket_, answer, answer.pid > 0 ? &ends : nullptr);
  for (const int fd : {in[1], out[0], err[0], failed[0]})
    if (fd >= 0) ::close(fd);
}

void Subreaper::reap() {
  siginfo_t ended{};
  while (::waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid != 0) {
    const pid_t pid = ended.si_pid;
    const auto child = known_.find(pid);
    if (child != known_.end())
      // The group is killed before its leader is reaped, because until then the number of the group
      // cannot be given to another process.
      ::kill(-pid, SIGKILL);
    int status = 0;
    ::waitpid(pid, &status, WNOHANG);
    if (child != known_.end()) child->second = {true, status};
    end_adopted();
    ended = {};
  }
}

void Subreaper::end_adopted() const {
  DIR* const processes = ::opendir("/proc");
  if (processes == nullptr) return;
  while (const dirent* entry = ::readdir(processes)) {
    const pid_t pid = std::atoi(entry->d_name);
    if (pid <= 0 || (known_.contains(pid) && !known_.at(pid).ended)) continue;
    std::array<char, 512> line{};
    const int fd = ::open(("/proc/" + std::to_string(pid) + "/stat").c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) continue;
    const auto got = ::read(fd, line.data(), line.size() - 1);
    ::close(fd);
    // A program's name may contain anything, so only the last bracket ends it.
    const char* const name_end = got > 0 ? std::strrchr(line.data(), ')') : nullptr;
    int parent = 0;
    char state = 0;
    if (name_end == nullptr || std::sscanf(name_end + 1, " %c %d", &state, &parent) != 2 ||
        parent != ::getpid() || state == 'Z')
      continue;
    ::kill(pid, SIGKILL);
  }
  ::closedir(processes);
}

bool Subreaper::await(pid_t pid, int longest_ms) {
  for (int waited = 0; waited < longest_ms && !known_.at(pid).ended; ++waited) {
    reap();
    if (!known_.at(pid).ended) ::poll(nullptr, 0, 1);
  }
  return known_.at(pid).ended;
}

void Subreaper::end(const Request& request) {
  const pid_t pid = request.end;
  reap();
  Answer answer{};
  if (known_.contains(pid)) {
    answer.had_ended = await(pid, request.grace_ms) || known_.at(pid).ended ? 1 : 0;
    if (answer.had_ended == 0) ::kill(-pid, SIGKILL);
    if (await(pid, kReap_ms)) {
      answer.status = known_.at(pid).status;
      known_.erase(pid);
      reap();
    }
  }
  send_answer(socket_, answer, nullptr);
}

void Subreaper::run() {
  ::prctl(PR_SET_NAME, "verifier-nursery");
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  // These signals are meant for the job, and the job ends this process.
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGPIPE})
    std::signal(signal, SIG_IGN);
  std::signal(SIGCHLD, SIG_DFL);
  sigset_t ends;
  ::sigemptyset(&ends);
  ::sigaddset(&ends, SIGCHLD);
  ::sigprocmask(SIG_SETMASK, &ends, nullptr);
  const int ended = ::signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
  const int nowhere = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  // Otherwise a launcher would wait until this process closes the job's standard streams.
  for (int fd = 0; fd < 3; ++fd) ::dup2(nowhere, fd);
  std::vector<char> packet(kPacket);
  for (;;) {
    std::array<pollfd, 2> waits{{{socket_, POLLIN, 0}, {ended, POLLIN, 0}}};
    if (uninterrupted([&] { return ::poll(waits.data(), waits.size(), -1); }) < 0) break;
    signalfd_siginfo info{};
    while (::read(ended, &info, sizeof info) > 0) continue;
    reap();
    if (waits[0].revents == 0) continue;
    const auto got =
        uninterrupted([&] { return ::recv(socket_, packet.data(), packet.size(), 0); });
    if (got < ssize_t(sizeof(Request))) break;  // the job has ended
    Request request{};
    std::memcpy(&request, packet.data(), sizeof request);
    if (request.end > 0) end(request);
    else start(packet.data() + sizeof request, std::size_t(got) - sizeof request);
  }
  end_all();
}

void Subreaper::end_all() {
  for (const auto& [pid, child] : known_)
    if (!child.ended) ::kill(-pid, SIGKILL);
  for (int waited = 0; waited < kReap_ms; ++waited) {
    reap();
    end_adopted();
    if (::waitpid(-1, nullptr, WNOHANG) < 0) return;  // no child is left
    ::poll(nullptr, 0, 1);
  }
}

}  // namespace

void run_subreaper(int socket) {
  Subreaper(socket).run();
  ::_exit(0);
}

}  // namespace rollcall::reward
