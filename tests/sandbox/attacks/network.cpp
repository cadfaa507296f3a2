// Attacks by way of sockets.
#include "attacks/attack.hpp"

#include <arpa/inet.h>
#include <linux/capability.h>
#include <linux/vm_sockets.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>

namespace rollcall::sandbox::attacks {
namespace {
using Text = std::string_view;

sockaddr_in here(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(std::uint16_t(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

bool connects(Text in, int domain) {
  const sockaddr_in address = here(Bait::parse(in).port);
  const int socket = ::socket(domain, SOCK_STREAM, 0);
  return socket >= 0 &&
         ::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

int opens(int domain, int type, int protocol) { return got(::socket(domain, type, protocol) >= 0); }

sockaddr_un named(const std::string& name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, name.data(), std::min(name.size(), sizeof address.sun_path - 1));
  return address;
}

/// A name without a file: the host's socket is "\0rollcall-attack-PID".
socklen_t abstract(Text in, sockaddr_un& address) {
  const std::string name =
      std::string(1, '\0') + "rollcall-attack-" + std::to_string(Bait::parse(in).host);
  address = named(name);
  return socklen_t(offsetof(sockaddr_un, sun_path) + name.size());
}
}  // namespace

std::vector<Attack> on_network() {
  return {
      {"connect to the host",
       [](Text in, std::string&) { return got(connects(in, AF_INET)); },
       {loopback()}},
      {"open a TCP socket",
       [](Text, std::string&) { return opens(AF_INET, SOCK_STREAM, 0); },
       {protocol("TCP"), unfiltered()}},
      {"open a TCP socket of version 6",
       [](Text, std::string&) { return opens(AF_INET6, SOCK_STREAM, 0); },
       {protocol("TCPv6"), unfiltered()}},
      {"send by UDP",
       [](Text in, std::string&) {
         const sockaddr_in to = here(Bait::parse(in).port);
         return got(::sendto(::socket(AF_INET, SOCK_DGRAM, 0), "x", 1, 0,
                             reinterpret_cast<const sockaddr*>(&to), sizeof to) == 1);
       },
       {loopback()}},
      {"listen",
       [](Text, std::string&) {
         const sockaddr_in any = here(0);
         const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
         return got(socket >= 0 &&
                    ::bind(socket, reinterpret_cast<const sockaddr*>(&any), sizeof any) == 0 &&
                    ::listen(socket, 1) == 0);
       },
       {loopback()}},
      {"open a raw socket",
       [](Text, std::string&) { return opens(AF_INET, SOCK_RAW, IPPROTO_ICMP); },
       {protocol("RAW"), capability(CAP_NET_RAW), namespace_of_own("net")}},
      {"open a packet socket",
       [](Text, std::string&) { return opens(AF_PACKET, SOCK_RAW, 0); },
       {protocol("PACKET"), capability(CAP_NET_RAW), namespace_of_own("net")}},
      {"open a netlink socket",
       [](Text, std::string&) { return opens(AF_NETLINK, SOCK_RAW, 0); },
       {protocol("NETLINK"), unfiltered()}},
      {"open a socket to the hypervisor",
       [](Text, std::string&) { return reached(::socket(AF_VSOCK, SOCK_STREAM, 0)); },
       {unfiltered()}},
      {"open a socket of the kernel's ciphers",
       [](Text, std::string&) { return reached(::socket(AF_ALG, SOCK_SEQPACKET, 0)); },
       {unfiltered()}},
      {"connect to a socket file",
       [](Text in, std::string&) {
         const sockaddr_un to = named(Bait::parse(in).folder + "/socket");
         return got(::connect(::socket(AF_UNIX, SOCK_STREAM, 0),
                              reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0);
       }},
      {"connect to a socket without a file",
       [](Text in, std::string&) {
         sockaddr_un to{};
         const socklen_t size = abstract(in, to);
         return got(::connect(::socket(AF_UNIX, SOCK_DGRAM, 0),
                              reinterpret_cast<const sockaddr*>(&to), size) == 0);
       }},
      {"send from a pair of sockets to a name",
       [](Text in, std::string&) {
         int pair[2];
         sockaddr_un to{};
         const socklen_t size = abstract(in, to);
         if (::socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) != 0) return 1;
         return got(::sendto(pair[0], "x", 1, 0, reinterpret_cast<const sockaddr*>(&to), size) ==
                    1);
       }},
      {"accept on a leaked socket",
       [](Text, std::string&) { return reached(::syscall(SYS_accept4, -1, nullptr, nullptr, 0)); },
       {call(SYS_accept4)}},
      {"bind a socket file",
       [](Text, std::string&) {
         const sockaddr_un name = named("attack-" + std::to_string(::getpid()));
         return got(::bind(::socket(AF_UNIX, SOCK_STREAM, 0),
                           reinterpret_cast<const sockaddr*>(&name), sizeof name) == 0);
       }},
  };
}

}  // namespace rollcall::sandbox::attacks
