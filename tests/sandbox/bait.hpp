// What lies outside for attacks: files, sockets, a descriptor; and what the host can see of processes that got out.
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
    if (::bind(listens_, reinterpret_cast<sockaddr*>(&file), sizeof file) != 0 || ::listen(listens_, 4096) != 0) throw std::runtime_error("no socket file");
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
    if (::bind(port_, reinterpret_cast<sockaddr*>(&any), size) != 0 || ::listen(port_, 4096) != 0) throw std::runtime_error("no port");
    ::getsockname(port_, reinterpret_cast<sockaddr*>(&any), &size);
    bait_.port = ntohs(any.sin_port);
  }
  void receive_by_name() {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string name = "rollcall-attack-" + std::to_string(bait_.host);
    std::memcpy(address.sun_path + 1, name.data(), name.size());
    named_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (::bind(named_, reinterpret_cast<sockaddr*>(&address), socklen_t(offsetof(sockaddr_un, sun_path) + 1 + name.size())) != 0) throw std::runtime_error("no name");
  }
  Bait bait_;
  int port_ = -1, listens_ = -1, named_ = -1;
};

/// Processes of this name that the host sees and that are alive.
inline std::vector<pid_t> processes_named(const std::string& name) {
  std::vector<pid_t> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::string line;
    std::getline(std::ifstream(entry.path() / "stat"), line);  // "PID (NAME) STATE ..."
    const std::string head = "(" + name + ") ";
    const std::size_t at = line.find(head);
    if (at != std::string::npos && line[at + head.size()] != 'Z') found.push_back(pid_t(std::stol(entry.path().filename())));
  }
  return found;
}

}  // namespace rollcall::sandbox::attacks
