// The date that templates print.
#pragma once

#include <string>

namespace rollcall::text::jinja {

/// Python's datetime.now().strftime(format): local time. With SOURCE_DATE_EPOCH in the environment
/// (reproducible-builds.org) it is that second, in UTC.
std::string time_text(const std::string& format);

}  // namespace rollcall::text::jinja
