// Makes text from a run safe for HTML and SVG: no text of a model, a prompt or a run file can
// become markup.
#pragma once

#include <string>
#include <string_view>

namespace rollcall::report {

/// Escapes for element content and quoted attributes. Invalid UTF-8 becomes U+FFFD, control
/// characters except tab and newline become their visible pictures, and characters that reorder
/// text (bidirectional controls) are written as their codes. So the page shows exactly what was
/// generated.
std::string escape(std::string_view text);

}  // namespace rollcall::report
