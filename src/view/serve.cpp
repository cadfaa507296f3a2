// The only file that uses Boost.Beast: one thread serves all connections, and a few threads make
// pages. Pages of other sites must not be able to read a run, neither through a host name of theirs
// that resolves to 127.0.0.1 nor through a script element that loads a script from here. No client
// can delay another one, or keep the program from ending.
#include "view/serve.hpp"

#include "base/errors/error.hpp"
#include "base/errors/visible.hpp"
#include "view/script_text.hpp"

#include <fmt/format.h>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace rollcall::view {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using namespace std::chrono_literals;
using Head = http::request_header<>;
using Answer = http::response<http::string_body>;
using Tcp = asio::ip::tcp;

// All clients have the address 127.0.0.1, so connections cannot be counted per client. If there are
// too many, the oldest of those that wait for their client is closed. A browser opens six.
constexpr std::size_t kMostConnections = 64;
constexpr std::uint32_t kHeadBytes = 8192;  // bytes; browsers send about 800
constexpr auto kForTheHead = 5s, kForTheAnswer = 60s;
constexpr auto kForTheRest = 1s;  // reads what the client still sends, so that it sees the answer
constexpr int kMakers = 4;  // threads that make pages; a browser asks for a few files at a time
constexpr const char* kPlain = "text/plain; charset=utf-8";

std::string_view plain(beast::string_view text) { return {text.data(), text.size()}; }

const char* type_of(std::string_view name) {
  return name.ends_with(".html")  ? "text/html; charset=utf-8"
         : name.ends_with(".css") ? "text/css; charset=utf-8"
                                  : "text/javascript; charset=utf-8";
}

/// Browsers must not store the answer, and the connection ends with it. Ranges are ignored, as RFC
/// 9110 allows.
Answer answer(http::status status, const char* type, std::string content) {
  Answer out(status, 11, std::move(content));
  out.set(http::field::content_type, type);
  out.set(http::field::connection, "close");
  out.set(http::field::accept_ranges, "none");
  out.set(http::field::cache_control, "no-store");
  if (status == http::status::method_not_allowed) out.set(http::field::allow, "GET, HEAD");
  out.set("X-Content-Type-Options", "nosniff");
  out.set("Cross-Origin-Resource-Policy", "same-origin");
  out.set("Content-Security-Policy", "frame-ancestors 'none'");
  out.set("Referrer-Policy", "no-referrer");
  out.prepare_payload();
  return out;
}

Answer refusal(http::status status, const std::string& why) {
  return answer(status, kPlain, why + "\n");
}

/// Whether the header Host names this server. Another site can make one of its names resolve to
/// 127.0.0.1 (DNS rebinding); the browser then sends that name in Host.
bool is_own_host(const Head& head, int port) {
  const std::string_view host = plain(head[http::field::host]);
  return head.count(http::field::host) == 1 &&
         (host == fmt::format("127.0.0.1:{}", port) || host == fmt::format("localhost:{}", port));
}

/// Whether the request comes from a page of this server or from its user. A script element of
/// another site could load a script from here; browsers announce that in the header Sec-Fetch-Site.
/// Requests without the header pass.
bool is_own_page(const Head& head) {
  const std::string_view from = plain(head["Sec-Fetch-Site"]);
  return from.empty() || from == "same-origin" || from == "none";
}

/// The refusal of a request, as far as the head alone decides; nothing if the page may be made. A
/// browser on this machine needs nothing but GET without a body.
std::optional<Answer> refused(const Head& head, int port) {
  const std::string_view length = plain(head[http::field::content_length]);
  if (head.method() != http::verb::get && head.method() != http::verb::head)
    return refusal(http::status::method_not_allowed, "Only GET and HEAD are answered.");
  if (!plain(head.target()).starts_with('/'))
    return refusal(http::status::bad_request, "This names no page.");
  if (!is_own_host(head, port))
    return refusal(http::status::forbidden,
                   fmt::format("This server answers as 127.0.0.1:{} only.", port));
  if ((!length.empty() && length != "0") || head.count(http::field::transfer_encoding) > 0)
    return refusal(http::status::payload_too_large, "A request has no body here.");
  return std::nullopt;
}

/// Makes the content of the requested file.
Answer page(Site& site, const Head& head) {
  const std::string path(plain(head.target()).substr(0, plain(head.target()).find('?')));
  const std::string name = path == "/" ? "index.html" : path.substr(1);
  const bool data = name.starts_with("data/");
  if (data && !is_own_page(head))
    return refusal(http::status::forbidden, "Another site may not read this.");
  std::optional<std::string> content;
  try {
    if (name == "data/runs.js") site.refresh();  // every page asks for this file first
    content = site.make(name);
  } catch (const std::exception& error) {
    if (!data) return refusal(http::status::internal_server_error, visible(error.what()));
    const std::string key = name == "data/runs.js" ? "runs" : name.substr(5, name.size() - 8);
    // the page shows the error
    content = fmt::format("rollcall({},null,{});\n", json_string(key), json_string(error.what()));
  }
  if (!content) return refusal(http::status::not_found, "There is no such page.");
  return answer(http::status::ok, type_of(name), std::move(*content));
}

class Server {
 public:
  Server(Site& site, int port) : site_(site), port_(listen(port)) {
    signals_.async_wait([this](const beast::error_code&, int) { context_.stop(); });
    asio::co_spawn(context_, accept_all(), asio::detached);
  }
  int port() const { return port_; }
  /// Returns after SIGINT or SIGTERM.
  void run() { context_.run(); }

 private:
  struct Connection {
    beast::tcp_stream stream;
    bool waits = true;  ///< for its client: to send the request, or to take the answer
  };
  using Open = std::list<Connection>;  // by age, the oldest first
  /// Removes a connection no matter where its coroutine ends.
  struct Entry {
    Open& open;
    Open::iterator place;
    Entry(Open& all, Open::iterator it) : open(all), place(it) {}
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;
    ~Entry() { open.erase(place); }
  };

  /// Listens on 127.0.0.1. Returns the port, which is a free one if `port` is 0.
  int listen(int port) {
    beast::error_code error;
    const Tcp::endpoint wanted(asio::ip::address_v4::loopback(), static_cast<unsigned short>(port));
    acceptor_.open(Tcp::v4(), error);
    // SO_REUSEPORT would let two servers share a port silently.
    if (!error) acceptor_.set_option(asio::socket_base::reuse_address(true), error);
    if (!error) acceptor_.bind(wanted, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    require<EnvironmentError>(
        !error || port != 0, fmt::format("no port of 127.0.0.1 can be used: {}", error.message()),
        "the pages have to be served somewhere", "use --out, or another machine");
    require<EnvironmentError>(
        !error, fmt::format("port {} of 127.0.0.1 cannot be used: {}", port, error.message()),
        "another program has it, or it needs other rights",
        "name another port: --serve 8801, or --serve 0 for any that is free");
    return acceptor_.local_endpoint().port();
  }

  void make_room() {
    const auto oldest =
        std::find_if(open_.begin(), open_.end(), [](const Connection& c) { return c.waits; });
    if (oldest != open_.end()) oldest->stream.close();
  }

  asio::awaitable<void> accept_all() {
    asio::steady_timer pause(context_);
    for (;;) {
      beast::error_code error;
      Tcp::socket socket =
          co_await acceptor_.async_accept(asio::redirect_error(asio::use_awaitable, error));
      if (error || open_.size() >= kMostConnections) make_room();
      if (!error) {
        const auto place =
            open_.emplace(open_.end(), Connection{beast::tcp_stream(std::move(socket))});
        asio::co_spawn(context_, serve(place), asio::detached);
      } else {  // the client is gone or too many files are open; either may pass
        pause.expires_after(20ms);
        co_await pause.async_wait(asio::use_awaitable);
      }
    }
  }

  asio::awaitable<void> serve(Open::iterator place) {
    const Entry entry(open_, place);
    Connection& connection = *place;
    beast::tcp_stream& stream = connection.stream;
    beast::flat_buffer buffer(2 * kHeadBytes);
    http::request_parser<http::buffer_body> parser;
    parser.header_limit(kHeadBytes);
    // refused() checks the body's length after method and host
    parser.body_limit(std::numeric_limits<std::uint64_t>::max());
    beast::error_code error;
    stream.expires_after(kForTheHead);  // for the whole head, even if its bytes come one by one
    co_await http::async_read_header(stream, buffer, parser,
                                     asio::redirect_error(asio::use_awaitable, error));
    Answer out;
    if (!error) {
      connection.waits = false;
      if (auto refused_at_once = refused(parser.get(), port_)) out = std::move(*refused_at_once);
      else out = co_await asio::co_spawn(makers_, make(parser.get()), asio::use_awaitable);
      connection.waits = true;
    } else if (error == http::error::header_limit || error == http::error::buffer_overflow) {
      out =
          refusal(http::status::request_header_fields_too_large, "The request's head is too long.");
    } else if (error.category() == beast::error_code(http::error::bad_method).category() &&
               error != http::error::end_of_stream && error != http::error::partial_message) {
      out = refusal(http::status::bad_request,
                    "This is no request of HTTP: " + error.message() + ".");
    } else {
      co_return;  // the client is gone or was too slow
    }
    error = {};
    stream.expires_after(kForTheAnswer);
    http::response_serializer<http::string_body> serializer(out);
    if (parser.get().method() == http::verb::head) {
      co_await http::async_write_header(stream, serializer,
                                        asio::redirect_error(asio::use_awaitable, error));
    } else {
      co_await http::async_write(stream, serializer,
                                 asio::redirect_error(asio::use_awaitable, error));
    }
    if (error) co_return;
    stream.socket().shutdown(Tcp::socket::shutdown_send, error);
    stream.expires_after(kForTheRest);
    for (std::array<char, 4096> rest{}; !error;)
      co_await stream.async_read_some(asio::buffer(rest),
                                      asio::redirect_error(asio::use_awaitable, error));
  }

  asio::awaitable<Answer> make(const Head& head) { co_return page(site_, head); }

  Site& site_;
  Open open_;
  asio::io_context context_{1};
  Tcp::acceptor acceptor_{context_};
  asio::signal_set signals_{context_, SIGINT, SIGTERM};
  asio::thread_pool makers_{kMakers};  // the last member, so that its threads end before what they
                                       // use is destroyed
  int port_;
};

}  // namespace

void serve(Site& site, int port) {
  Server server(site, port);
  fmt::print("http://127.0.0.1:{}/\nCtrl-C ends it.\n", server.port());
  std::fflush(stdout);
  server.run();
}

}  // namespace rollcall::view
