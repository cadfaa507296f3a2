// What lies outside for attacks: files, sockets, a descriptor; and what the host can see of
// processes that got out.
#pragma once

#include "attacks/attack.hpp"

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace rollcall::sandbox::attacks {

/// Laid out at construction, gone at the end.
class LaidBait {
 public:
  LaidBait() {
    std::string folder = "/tmp/rollcall-bait-XXXXXX";
    if (::mkdtemp(folder.data()) == nullptr) throw std::runtime_error("no folder for the bait");
    bait_.folder = folder;
    ::chmod(folder.c_str(), 0777);
    std::ofstream(bait_.secret()) << kSecret;
    for (const char* name : {"/open", "/removable"}) std::ofstream(folder + name) << "x";
    ::chmod(bait_.open().c_str(), 0666);
    bait_.host = ::getpid();
    listen_to_port();
    sockaddr_un file{};
    file.sun_family = AF_UNIX;
    std::strncpy(file.sun_path, (folder + "/socket").c_str(), sizeof file.sun_path - 1);
    listens_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (::bind(listens_, reinterpret_cast<sockaddr*>(&file), sizeof file) != 0 ||
        ::listen(listens_, 4096) != 0)
      throw std::runtime_error("no socket file");
    ::chmod(file.sun_path, 0777);
    receive_by_name();
    bait_.descriptor = ::open(bait_.secret().c_str(), O_RDONLY);  // stays open on exec
  }
  LaidBait(const LaidBait&) = delete;
  LaidBait& operator=(const LaidBait&) = delete;
  ~LaidBait() {
    for (const int descriptor : {port_, listens_, named_, bait_.descriptor}) ::close(descriptor);
    std::filesystem::remove_all(bait_.folder);
  }
  const Bait& bait() const { return bait_; }

 private:
  void listen_to_port() {
    sockaddr_in any{};
    any.sin_family = AF_INET;
    any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof any;
    port_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (::bind(port_, reinterpret_cast<sockaddr*>(&any), size) != 0 || ::listen(port_, 4096) != 0)
      return;  // no network here: attacks by it are not run outside
    ::getsockname(port_, reinterpret_cast<sockaddr*>(&any), &size);
    bait_.port = ntohs(any.sin_port);
  }
  void receive_by_name() {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string name = "rollcall-attack-" + std::to_string(bait_.host);
    std::memcpy(address.sun_path + 1, name.data(), name.size());
    named_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (::bind(named_, reinterpret_cast<sockaddr*>(&address),
               socklen_t(offsetof(sockaddr_un, sun_path) + 1 + name.size())) != 0)
      throw std::runtime_error("no name");
  }
  Bait bait_;
  int port_ = -1, listens_ = -1, named_ = -1;
};

struct Process {
  pid_t pid = 0, parent = 0;
  std::string name;
};

/// What the host sees alive.
inline std::vector<Process> processes() {
  std::vector<Process> all;
  std::error_code gone;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", gone)) {
    std::string line;
    std::getline(std::ifstream(entry.path() / "stat"), line);  // "PID (NAME) STATE PARENT ..."
    const std::size_t open = line.find('('), close = line.rfind(") ");
    if (close == std::string::npos || line[close + 2] == 'Z') continue;
    all.push_back({pid_t(std::stol(line)), pid_t(std::stol(line.substr(close + 4))),
                   line.substr(open + 1, close - open - 1)});
  }
  return all;
}

inline std::vector<pid_t> processes_named(const std::string& name) {
  std::vector<pid_t> found;
  for (const Process& process : processes()) {
    if (process.name == name) found.push_back(process.pid);
  }
  return found;
}

/// Children, their children and so on; with a name, only those so called.
inline std::vector<pid_t> descendants(pid_t of, const std::string& name = {}) {
  const auto all = processes();
  std::vector<pid_t> line{of}, found;
  for (std::size_t i = 0; i < line.size(); ++i) {
    for (const Process& process : all) {
      if (process.parent != line[i]) continue;
      line.push_back(process.pid);
      if (name.empty() || process.name == name) found.push_back(process.pid);
    }
  }
  return found;
}

}  // namespace rollcall::sandbox::attacks
