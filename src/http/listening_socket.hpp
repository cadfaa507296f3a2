// A socket that listens at an address of this machine.
#pragma once

#include <string>

namespace rollcall::http {

/// Port 0 is any free one. Returns the descriptor. Throws EnvironmentError if the address or the
/// port cannot be used.
int listening_socket(const std::string& host, int port);

/// The port at which a socket listens; 0 if it is not one of IP.
int port_of(int listening);

}  // namespace rollcall::http
