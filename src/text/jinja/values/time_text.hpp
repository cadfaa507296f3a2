// The date and time that templates print.
#pragma once

#include <string>

namespace rollcall::text::jinja {

/// Python's datetime.now().strftime(format) in local time. If the environment has SOURCE_DATE_EPOCH
/// (reproducible-builds.org), in seconds since 1970, it is that time in UTC.
std::string time_text(const std::string& format);

}  // namespace rollcall::text::jinja
