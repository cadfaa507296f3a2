// Request lines and fields, by the grammar of RFC 9112 without its leniencies.
#include "view/http_request.hpp"

#include "base/visible.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace rollcall::view {
namespace {

constexpr std::string_view kEnd = "\r\n\r\n";

HttpRequest refusal(int status, std::string why) { return {.refused = status, .why = std::move(why), .path = {}}; }

/// RFC 9110, 5.6.2.
bool is_token(std::string_view text) {
  const auto fits = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
  };
  return !text.empty() && std::all_of(text.begin(), text.end(), fits);
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c;
  return out;
}

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  return first == std::string_view::npos ? std::string_view() : text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

/// Takes the next line, without its end, from `rest`.
std::string_view next_line(std::string_view& rest) {
  const std::string_view line = rest.substr(0, rest.find("\r\n"));
  rest.remove_prefix(std::min(rest.size(), line.size() + 2));
  return line;
}

using Fields = std::map<std::string, std::string>;

/// Fields by their names in lower case. False: a line is none, or a name comes twice, so that two
/// readers could take different values.
bool read_fields(std::string_view rest, Fields& fields) {
  for (std::string_view line = next_line(rest); !line.empty(); line = next_line(rest)) {
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos || !is_token(line.substr(0, colon))) return false;
    const std::string_view value = trim(line.substr(colon + 1));
    if (std::any_of(value.begin(), value.end(), [](char c) { return (c >= 0 && c < ' ' && c != '\t') || c == 0x7F; })) return false;
    if (!fields.emplace(lower(line.substr(0, colon)), value).second) return false;
  }
  return true;
}

const char* reason_of(int status) {
  switch (status) {
    case 200: return "OK";
    case 400: return "Bad Request";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 408: return "Request Timeout";
    case 413: return "Content Too Large";
    case 503: return "Service Unavailable";
    case 431: return "Request Header Fields Too Large";
    default: return "Internal Server Error";
  }
}

}  // namespace

bool is_whole_head(std::string_view text) {
  // What is no text, as the first bytes of TLS, will never have an end.
  return text.find(kEnd) != std::string_view::npos || (!text.empty() && (text[0] < 'A' || text[0] > 'Z'));
}

HttpRequest read_request(std::string_view head, int port) {
  head = head.substr(0, head.find(kEnd) == std::string_view::npos ? head.size() : head.find(kEnd) + kEnd.size());
  const std::string_view line = next_line(head);
  const std::size_t first = line.find(' '), second = line.find(' ', first == std::string_view::npos ? first : first + 1);
  if (second == std::string_view::npos || !is_token(line.substr(0, first))) return refusal(400, "This is no request of HTTP.");
  const std::string_view method = line.substr(0, first), target = line.substr(first + 1, second - first - 1), version = line.substr(second + 1);
  if (method != "GET" && method != "HEAD") return refusal(405, "Only GET and HEAD are answered.");
  if ((version != "HTTP/1.1" && version != "HTTP/1.0") || !target.starts_with('/')) return refusal(400, "This is no request of HTTP/1.1.");
  Fields fields;
  if (!read_fields(head, fields)) return refusal(400, "A line of the request's head is no field, or a field comes twice.");
  if (const std::string& host = fields["host"]; host != fmt::format("127.0.0.1:{}", port) && host != fmt::format("localhost:{}", port))
    return refusal(403, fmt::format("This server answers as 127.0.0.1:{} only.", port));
  if ((fields.contains("content-length") && fields["content-length"] != "0") || fields.contains("transfer-encoding"))
    return refusal(413, "A request has no body here.");
  const std::string& site = fields["sec-fetch-site"];
  return {.why = {},
          .path = std::string(target.substr(0, target.find('?'))),
          .only_head = method == "HEAD",
          .from_elsewhere = !site.empty() && site != "same-origin" && site != "none"};
}

std::string http_answer(int status, std::string_view type, std::string_view content, bool only_head) {
  std::string answer = fmt::format(
      "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\nAccept-Ranges: none\r\n{}Cache-Control: no-store\r\n"
      "X-Content-Type-Options: nosniff\r\nCross-Origin-Resource-Policy: same-origin\r\nContent-Security-Policy: frame-ancestors 'none'\r\n"
      "Referrer-Policy: no-referrer\r\n\r\n",
      status, reason_of(status), type, content.size(), status == 405 ? "Allow: GET, HEAD\r\n" : "");
  if (!only_head) answer += content;
  return answer;
}

}  // namespace rollcall::view
