// Finds an address for a name, and listens there.
#include "http/listening_socket.hpp"

#include "base/errors/error.hpp"
#include "base/errors/visible.hpp"

#include <fmt/format.h>

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cerrno>
#include <system_error>

namespace rollcall::http {
namespace {

/// The descriptor, or -1 with errno set.
int listen_at(const addrinfo& address) {
  const int descriptor = socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return -1;
  const int on = 1;
  // A port is free again at once after its server has ended. SO_REUSEPORT would let two servers
  // share one silently.
  setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(descriptor, address.ai_addr, address.ai_addrlen) == 0 &&
      listen(descriptor, SOMAXCONN) == 0)
    return descriptor;
  const int fault = errno;
  close(descriptor);
  errno = fault;
  return -1;
}

}  // namespace

int listening_socket(const std::string& host, int port) {
  addrinfo wanted{}, *found = nullptr;
  wanted.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  wanted.ai_socktype = SOCK_STREAM;
  const int unknown = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &found);
  require<EnvironmentError>(unknown == 0,
                            fmt::format("there is no address {}: {}", visible(host),
                                        unknown == 0 ? "" : gai_strerror(unknown)),
                            "a server answers at an address of its machine",
                            "name one that the machine has, as 127.0.0.1");
  int descriptor = -1;
  for (const addrinfo* one = found; one != nullptr && descriptor < 0; one = one->ai_next)
    descriptor = listen_at(*one);
  const std::string fault = std::generic_category().message(errno);
  freeaddrinfo(found);
  require<EnvironmentError>(descriptor >= 0 || port != 0,
                            fmt::format("no port of {} can be used: {}", visible(host), fault),
                            "a server has to be reached somewhere",
                            "name an address that this machine has");
  require<EnvironmentError>(
      descriptor >= 0, fmt::format("port {} of {} cannot be used: {}", port, visible(host), fault),
      "another program has it, or it needs other rights",
      "name another port, or 0 for any that is free");
  return descriptor;
}

int port_of(int listening) {
  sockaddr_storage address{};
  socklen_t bytes = sizeof address;
  if (getsockname(listening, reinterpret_cast<sockaddr*>(&address), &bytes) != 0) return 0;
  if (address.ss_family == AF_INET)
    return ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);
  if (address.ss_family == AF_INET6)
    return ntohs(reinterpret_cast<const sockaddr_in6&>(address).sin6_port);
  return 0;
}

}  // namespace rollcall::http
