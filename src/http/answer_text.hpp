// Answers as bytes.
#pragma once

#include "http/exchange.hpp"

#include <string>
#include <string_view>

namespace rollcall::http {

/// How the answer to a request is sent.
struct Form {
  bool has_body = true;  ///< false for HEAD
  bool chunked = true;   ///< for a streamed answer; HTTP/1.0 has no chunks
  bool closes = false;   ///< the connection ends with it
};

/// A whole answer. Browsers neither store it nor show it within a page of another site.
std::string answer_text(const Form& form, const Answer& answer);
/// The head of a streamed answer of status 200.
std::string stream_head(const Form& form, std::string_view type);
/// A piece of it; no bytes for an empty piece.
std::string stream_piece(const Form& form, std::string_view bytes);
std::string stream_end(const Form& form);

}  // namespace rollcall::http
