// The one home of cpp-httplib. Pages of other sites must not read a run: neither under a name of their own for 127.0.0.1, nor by including its scripts.
#include "view/serve.hpp"

#include "base/error.hpp"
#include "view/script_text.hpp"

#include <fmt/format.h>
#include <httplib.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

namespace rollcall::view {
namespace {

constexpr const char* kPlain = "text/plain; charset=utf-8";

const char* type_of(std::string_view name) {
  return name.ends_with(".html") ? "text/html; charset=utf-8" : name.ends_with(".css") ? "text/css; charset=utf-8" : "text/javascript; charset=utf-8";
}

void refuse(httplib::Response& response, int status, const std::string& why) {
  response.status = status;
  response.set_content(why + "\n", kPlain);
}

/// A name that some other site had resolved to 127.0.0.1 stands in Host (DNS rebinding).
bool is_own_host(const httplib::Request& request, int port) {
  const std::string host = request.get_header_value("Host");
  return host == fmt::format("127.0.0.1:{}", port) || host == fmt::format("localhost:{}", port);
}

/// A script element of another site may load a script from here; browsers say so.
bool is_own_page(const httplib::Request& request) {
  const std::string from = request.get_header_value("Sec-Fetch-Site");
  return from.empty() || from == "same-origin" || from == "none";
}

void answer(Site& site, const httplib::Request& request, httplib::Response& response, int port) {
  const std::string name = request.path == "/" ? "index.html" : request.path.substr(1);
  const bool data = name.starts_with("data/");
  if (!is_own_host(request, port)) return refuse(response, 403, fmt::format("This server answers as 127.0.0.1:{} only.", port));
  if (data && !is_own_page(request)) return refuse(response, 403, "Another site may not read this.");
  std::optional<std::string> content;
  try {
    if (name == "data/runs.js") site.refresh();  // the first thing that a page asks for
    content = site.make(name);
  } catch (const std::exception& error) {
    if (!data) return refuse(response, 500, error.what());
    const std::string key = name == "data/runs.js" ? "runs" : name.substr(5, name.size() - 8);
    content = fmt::format("rollcall({},null,{});\n", json_string(key), json_string(error.what()));  // for the page to show
  }
  if (!content) return refuse(response, 404, "There is no such page.");
  response.set_content(*content, type_of(name));
}

/// Before a port is bound.
void set_socket(httplib::Server& server) {
  server.set_socket_options([](socket_t socket) {
    const int yes = 1;  // and not SO_REUSEPORT, by which two servers would share a port without a word
    ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  });
}

void set_up(httplib::Server& server, Site& site, int port) {
  server.set_keep_alive_timeout(1);  // the end waits for open connections
  server.set_default_headers({{"Cache-Control", "no-store"},
                              {"X-Content-Type-Options", "nosniff"},
                              {"Cross-Origin-Resource-Policy", "same-origin"},
                              {"Content-Security-Policy", "frame-ancestors 'none'"},
                              {"Referrer-Policy", "no-referrer"}});
  server.Get(".*", [&site, port](const httplib::Request& request, httplib::Response& response) { answer(site, request, response, port); });
}

int bind(httplib::Server& server, int port) {
  if (port == 0) {
    const int any = server.bind_to_any_port("127.0.0.1");
    require<EnvironmentError>(any > 0, "no port of 127.0.0.1 can be used", "the pages have to be served somewhere", "use --out, or another machine");
    return any;
  }
  require<EnvironmentError>(server.bind_to_port("127.0.0.1", port), fmt::format("port {} of 127.0.0.1 cannot be used", port),
                            "another program has it, or it needs other rights", "name another port: --serve 8801, or --serve 0 for any that is free");
  return port;
}

}  // namespace

void serve(Site& site, int port) {
  sigset_t ends, before;
  sigemptyset(&ends);
  sigaddset(&ends, SIGINT), sigaddset(&ends, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &ends, &before);  // threads made from here on do not take them
  httplib::Server server;
  set_socket(server);
  const int bound = bind(server, port);
  set_up(server, site, bound);
  std::atomic<bool> ended = false;
  std::thread listener([&] {
    server.listen_after_bind();
    ended = true;
    ::kill(::getpid(), SIGTERM);  // should listening end by itself, so does this
  });
  while (!server.is_running() && !ended) std::this_thread::sleep_for(std::chrono::milliseconds(1));  // before that, stop() would be forgotten
  fmt::print("http://127.0.0.1:{}/\nCtrl-C ends it.\n", bound);
  std::fflush(stdout);
  int signal = 0;
  sigwait(&ends, &signal);
  const bool by_itself = ended;
  server.stop();
  listener.join();
  const timespec none{0, 0};
  sigtimedwait(&ends, nullptr, &none);  // the one that the listener sent at its end
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  require<EnvironmentError>(!by_itself, fmt::format("the server on port {} has ended", bound), "it can take no more connections", "start it again");
}

}  // namespace rollcall::view
