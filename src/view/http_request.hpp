// The head of an HTTP request (RFC 9112), judged before anything is done for it. A browser on this
// machine needs GET without a body, and gets no more.
#pragma once

#include <string>
#include <string_view>

namespace rollcall::view {

inline constexpr std::size_t kLongestHead = 8192;  ///< bytes; browsers send about 800

/// A request, or why it is refused.
struct HttpRequest {
  int refused = 0;  ///< status of the refusal; 0: it is to be answered
  std::string why;
  std::string path;             ///< "/data/runs.js", without what follows a question mark
  bool only_head = false;       ///< HEAD: the answer without its content
  bool from_elsewhere = false;  ///< a page of another site asks, as browsers say (Sec-Fetch-Site)
};

/// Whether `text` holds a whole head, up to and with its empty line, or begins with what is none.
bool is_whole_head(std::string_view text);

/// `head` is whole. Refused are other methods, bodies, and other names of this server than
/// 127.0.0.1 and localhost: a site may have its own name resolved to 127.0.0.1 (DNS rebinding).
/// Ranges are ignored, as RFC 9110 allows, and so is whether content may be compressed.
HttpRequest read_request(std::string_view head, int port);

/// The whole answer. Nothing of it is kept by browsers, and the connection ends with it.
std::string http_answer(int status, std::string_view type, std::string_view content, bool only_head);

}  // namespace rollcall::view
