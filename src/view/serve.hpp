// `rollcall view --serve`: the files of `rollcall view` over HTTP, for browsers on this machine.
#pragma once

#include "view/site.hpp"

namespace rollcall::view {

inline constexpr int kDefaultPort = 8737;

/// Prints the address and answers on 127.0.0.1 until SIGINT or SIGTERM. With port 0 it takes any
/// free port. Throws EnvironmentError if the port is taken.
void serve(Site& site, int port);

}  // namespace rollcall::view
