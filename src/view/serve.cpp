// Pages of other sites must not be able to read a run, neither through a host name of theirs that
// resolves to 127.0.0.1 nor through a script element that loads a script from here. Connections and
// their limits are those of http/server.hpp.
#include "view/serve.hpp"

#include "base/errors/visible.hpp"
#include "http/server.hpp"
#include "view/makers.hpp"
#include "view/script_text.hpp"

#include <fmt/format.h>

#include <pthread.h>
#include <csignal>
#include <cstdio>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace rollcall::view {
namespace {

using http::Answer;
using http::Head;

constexpr int kMakers = 4;  // threads that make pages; a browser asks for a few files at a time
/// A browser opens six connections, and sends heads of about 800 bytes. A connection ends with its
/// answer, since all clients have the address 127.0.0.1 and cannot be counted one by one.
constexpr http::Limits kLimits{.connections = 64, .waiting = 48, .head_bytes = 8192};

const char* type_of(std::string_view name) {
  return name.ends_with(".html")  ? "text/html; charset=utf-8"
         : name.ends_with(".css") ? "text/css; charset=utf-8"
                                  : "text/javascript; charset=utf-8";
}

/// Whether the header Host names this server. Another site can make one of its names resolve to
/// 127.0.0.1 (DNS rebinding); the browser then sends that name in Host.
bool is_own_host(const Head& head, int port) {
  return head.host == fmt::format("127.0.0.1:{}", port) ||
         head.host == fmt::format("localhost:{}", port);
}

/// Whether the request comes from a page of this server or from its user. A script element of
/// another site could load a script from here; browsers announce that in the header Sec-Fetch-Site.
/// Requests without the header pass.
bool is_own_page(const Head& head) {
  return head.fetch_site.empty() || head.fetch_site == "same-origin" || head.fetch_site == "none";
}

/// The refusal of a request, as far as the head alone decides; nothing if the page may be made. A
/// browser on this machine needs nothing but GET without a body, and the server refuses bodies.
std::optional<Answer> judge(const Head& head, int port) {
  if (head.method != "GET" && head.method != "HEAD") {
    Answer refusal = http::plain_refusal(405, "Only GET and HEAD are answered.");
    refusal.allow = "GET, HEAD";
    return refusal;
  }
  if (!head.target.starts_with('/')) return http::plain_refusal(400, "This names no page.");
  if (!is_own_host(head, port))
    return http::plain_refusal(403, fmt::format("This server answers as 127.0.0.1:{} only.", port));
  return std::nullopt;
}

/// Makes the content of the requested file. Ranges are ignored, as RFC 9110 allows.
Answer page(Site& site, const Head& head) {
  const std::string path = head.target.substr(0, head.target.find('?'));
  const std::string name = path == "/" ? "index.html" : path.substr(1);
  const bool data = name.starts_with("data/");
  if (data && !is_own_page(head))
    return http::plain_refusal(403, "Another site may not read this.");
  std::optional<std::string> content;
  try {
    if (name == "data/runs.js") site.refresh();  // every page asks for this file first
    content = site.make(name);
  } catch (const std::exception& error) {
    if (!data) return http::plain_refusal(500, visible(error.what()));
    const std::string key = name == "data/runs.js" ? "runs" : name.substr(5, name.size() - 8);
    // the page shows the error
    content = fmt::format("rollcall({},null,{});\n", json_string(key), json_string(error.what()));
  }
  if (!content) return http::plain_refusal(404, "There is no such page.");
  return {.status = 200, .type = type_of(name), .body = std::move(*content)};
}

void report(std::exception_ptr failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& error) {
    complain(error.what());
  }
}

/// SIGINT and SIGTERM, which are blocked from now on, in the threads of this one, too.
class StopSignals {
 public:
  StopSignals() {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGINT);
    sigaddset(&signals_, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals_, &before_);
  }
  ~StopSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
  void wait() const {
    int signal = 0;
    sigwait(&signals_, &signal);
  }

 private:
  sigset_t signals_, before_;
};

}  // namespace

void serve(Site& site, int port) {
  const StopSignals stop;
  Makers makers(kMakers);
  http::Server server(report);  // destroyed before the makers; what they still answer is dropped
  const auto handler = [&](std::shared_ptr<http::Exchange> exchange) {
    makers.add([&site, exchange] { exchange->answer(page(site, exchange->head())); });
  };
  const auto listener =
      server.listen("127.0.0.1", port, {.limits = kLimits, .judge = judge, .handler = handler});
  fmt::print("http://127.0.0.1:{}/\nCtrl-C ends it.\n", listener.port);
  std::fflush(stdout);
  stop.wait();
}

}  // namespace rollcall::view
