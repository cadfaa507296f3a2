// The C library's strftime as Python calls it. Python adds %f, and leaves the time zone empty.
#include "text/jinja/values/time_text.hpp"

#include "base/errors/error.hpp"
#include "text/jinja/fault.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <vector>

namespace rollcall::text::jinja {
namespace {

struct Now {
  std::tm time{};
  long microseconds = 0;
};

Now now() {
  Now result;
  if (const char* fixed = std::getenv("SOURCE_DATE_EPOCH")) {
    std::time_t seconds = 0;
    const auto [end, error] = std::from_chars(fixed, fixed + std::strlen(fixed), seconds);
    require<EnvironmentError>(
        error == std::errc() && *end == 0 && seconds >= 0 && seconds < 253402300800,
        fmt::format("SOURCE_DATE_EPOCH={}", fixed),
        "it is the date that chat templates print: seconds since 1970, before the year 10000",
        "set a whole number, or unset it");
    gmtime_r(&seconds, &result.time);
    return result;
  }
  std::timespec moment{};
  std::timespec_get(&moment, TIME_UTC);
  localtime_r(&moment.tv_sec, &result.time);
  result.microseconds = moment.tv_nsec / 1000;
  return result;
}

}  // namespace

std::string time_text(const std::string& format) {
  if (format.find('\0') != std::string::npos) fail("embedded null character");
  const Now moment = now();
  std::string for_library;
  for (std::size_t i = 0; i < format.size(); ++i) {
    const char next = i + 1 < format.size() ? format[i + 1] : 0;
    if (format[i] == '%' && next == 'f') for_library += fmt::format("{:06}", moment.microseconds);
    else if (format[i] == '%' && next == '%') for_library += "%%";
    else if (format[i] != '%' || (next != 'z' && next != 'Z')) {
      for_library += format[i];
      continue;
    }
    ++i;
  }
  for_library += ' ';  // so that an empty result differs from one that did not fit
  std::vector<char> buffer(256 + 64 * for_library.size());
  const std::size_t n =
      std::strftime(buffer.data(), buffer.size(), for_library.c_str(), &moment.time);
  if (n == 0) fail_unsupported("a date of this length");
  return std::string(buffer.data(), n - 1);
}

}  // namespace rollcall::text::jinja
