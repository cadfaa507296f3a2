// The spawner's side of the socket. Requests are packets, and descriptors travel with the answers.
#include "reward/command/spawner.hpp"

#include "base/errors/error.hpp"
#include "base/process/uninterrupted.hpp"
#include "reward/command/subreaper.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

namespace rollcall::reward {
namespace {

std::string end_text(int status) {
  if (WIFEXITED(status)) return fmt::format("ended with status {}", WEXITSTATUS(status));
  return fmt::format("was ended by signal {} ({})", WTERMSIG(status),
                     ::strsignal(WTERMSIG(status)));
}

/// Sends a request and returns its answer. `fds` receive the descriptors that come with it.
Answer ask(int socket, const std::string& key, const std::string& packet, std::array<int, 3>* fds) {
  Answer answer{};
  iovec part{&answer, sizeof answer};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(3 * sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part, message.msg_iovlen = 1;
  message.msg_control = control.data(), message.msg_controllen = control.size();
  const bool sent = uninterrupted([&] {
                      return ::send(socket, packet.data(), packet.size(), MSG_NOSIGNAL);
                    }) == ssize_t(packet.size());
  const auto got =
      sent ? uninterrupted([&] { return ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC); }) : -1;
  require<EnvironmentError>(
      got == ssize_t(sizeof answer), fmt::format("the process that starts {} has gone", key),
      "no process of the command can be started or ended without it",
      "look for what ended it (the kernel's log names processes that it ended for their memory), then resume");
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (fds != nullptr && header != nullptr && header->cmsg_type == SCM_RIGHTS)
    std::memcpy(fds->data(), CMSG_DATA(header), 3 * sizeof(int));
  return answer;
}

std::string packed(const Request& request, const std::vector<std::string>& words = {}) {
  std::string packet(reinterpret_cast<const char*>(&request), sizeof request);
  for (const auto& word : words) packet.append(word).push_back('\0');
  return packet;
}

/// Closes all of the job's descriptors but this end of the socket. In particular it closes the
/// other end, because its closing must show that the job has ended.
void close_all_but(int socket) {
  ::dup2(socket, 3);
  if (::syscall(SYS_close_range, 4U, ~0U, 0U) != 0)
    for (int fd = 4; fd < ::sysconf(_SC_OPEN_MAX); ++fd) ::close(fd);  // Linux before 5.9
  ::fcntl(3, F_SETFD, FD_CLOEXEC);
}

}  // namespace

Pipe::~Pipe() {
  if (fd_ >= 0) ::close(fd_);
}

Spawner::Spawner(std::string key) : key_(std::move(key)), socket_(-1), pid_(-1) {
  int ends[2] = {-1, -1};
  std::fflush(nullptr);
  const bool made = ::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0;
  const int size = 2 * int(kPacket);
  if (made) ::setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
  pid_ = made ? ::fork() : -1;
  if (pid_ == 0) {
    close_all_but(ends[1]);
    run_subreaper(3);
  }
  if (made) ::close(ends[1]);
  socket_ = ends[0];
  require<EnvironmentError>(
      pid_ > 0, fmt::format("no process can be started beside this one: {}", std::strerror(errno)),
      fmt::format("{} needs it", key_), "raise the limit of processes (ulimit -u)");
}

Spawner::~Spawner() {
  ::close(socket_);
  uninterrupted([&] { return ::waitpid(pid_, nullptr, 0); });
}

/// Advice for a command that cannot be started, with errno `failure`: a name without a slash is
/// searched in PATH, as a shell does, and not in the job's folder.
std::string remedy_for(const std::string& program, int failure) {
  std::error_code unknown;
  const bool has_slash = program.find('/') != std::string::npos,
             is_here = std::filesystem::exists(program, unknown);
  if (!has_slash && is_here)
    return fmt::format("write ./{}: a name without a slash is looked for in PATH alone", program);
  if (is_here && failure == ENOENT)
    return "it is there, but not the program that its first line names behind #!; correct that line";
  return fmt::format("check that {} is there and executable (chmod +x); the job runs in {}",
                     program, std::filesystem::current_path(unknown).string());
}

Child Spawner::start(const std::vector<std::string>& command) {
  const std::string packet = packed({}, command);
  require<EnvironmentError>(packet.size() <= kPacket,
                            fmt::format("{} is {} bytes long", key_, packet.size()),
                            fmt::format("{} fit", kPacket), "put it into a script");
  std::array<int, 3> fds{-1, -1, -1};
  const Answer answer = ask(socket_, key_, packet, &fds);
  require<EnvironmentError>(answer.pid > 0,
                            fmt::format("{} cannot be started: {}: {}", key_, command.front(),
                                        std::strerror(answer.failure)),
                            "the run cannot go on without it",
                            remedy_for(command.front(), answer.failure));
  for (const int fd : fds) ::fcntl(fd, F_SETFL, O_NONBLOCK);
  return {answer.pid, Pipe(fds[0]), Pipe(fds[1]), Pipe(fds[2])};
}

std::string Spawner::end(pid_t pid, int grace_ms) {
  const Answer answer = ask(socket_, key_, packed({pid, grace_ms}), nullptr);
  return answer.had_ended != 0 ? end_text(answer.status) : std::string();
}

}  // namespace rollcall::reward
