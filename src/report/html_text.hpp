// Text from a run made safe for HTML and SVG: nothing that a model, a prompt or a run file says can
// become markup.
#pragma once

#include <string>
#include <string_view>

namespace rollcall::report {

/// Valid in element content and in quoted attributes. Invalid UTF-8 becomes U+FFFD, control
/// characters (but tab and newline) their visible pictures, and characters that reorder text
/// (bidirectional controls) are spelled out, so that what is shown is what was generated.
std::string escape(std::string_view text);

}  // namespace rollcall::report
