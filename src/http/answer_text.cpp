// Heads and chunks, written by hand: no field depends on the time.
#include "http/answer_text.hpp"

#include <fmt/format.h>
#include <boost/beast/http/status.hpp>

namespace rollcall::http {
namespace {

/// The head up to the fields that say how long the body is. There is no Date: a program that is
/// trained would be told the time.
std::string begun_head(const Form& form, int status, std::string_view type) {
  const auto reason =
      boost::beast::http::obsolete_reason(boost::beast::http::int_to_status(unsigned(status)));
  return fmt::format(
      "HTTP/1.1 {} {}\r\nContent-Type: {}\r\n{}Accept-Ranges: none\r\nCache-Control: no-store\r\n"
      "X-Content-Type-Options: nosniff\r\nCross-Origin-Resource-Policy: same-origin\r\n"
      "Content-Security-Policy: frame-ancestors 'none'\r\nReferrer-Policy: no-referrer\r\n",
      status, std::string_view(reason.data(), reason.size()), type,
      form.closes ? "Connection: close\r\n" : "");
}

}  // namespace

std::string answer_text(const Form& form, const Answer& answer) {
  std::string text = begun_head(form, answer.status, answer.type);
  if (!answer.allow.empty()) text += fmt::format("Allow: {}\r\n", answer.allow);
  text += fmt::format("Content-Length: {}\r\n\r\n", answer.body.size());
  if (form.has_body) text += answer.body;
  return text;
}

std::string stream_head(const Form& form, std::string_view type) {
  return begun_head(form, 200, type) +
         (form.chunked ? "Transfer-Encoding: chunked\r\n\r\n" : "\r\n");
}

std::string stream_piece(const Form& form, std::string_view bytes) {
  if (!form.has_body || bytes.empty()) return {};
  return form.chunked ? fmt::format("{:x}\r\n{}\r\n", bytes.size(), bytes) : std::string(bytes);
}

std::string stream_end(const Form& form) {
  return form.has_body && form.chunked ? "0\r\n\r\n" : "";
}

}  // namespace rollcall::http
