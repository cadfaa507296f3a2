// `rollcall view --serve`: the same files over HTTP, for browsers on this machine.
#pragma once

#include "view/site.hpp"

namespace rollcall::view {

inline constexpr int kDefaultPort = 8737;

/// Answers on 127.0.0.1 until SIGINT or SIGTERM; prints the address. Port 0: any that is free.
/// Throws EnvironmentError when the port is taken.
void serve(Site& site, int port);

}  // namespace rollcall::view
