// Message assembly of the typed errors.
#include "base/errors/error.hpp"

#include <fmt/format.h>

namespace rollcall {

std::string error_message(std::string_view problem, std::string_view why,
                          std::string_view suggestion) {
  return fmt::format("{} ({}); {}", problem, why, suggestion);
}

void expect(bool ok, const char* condition) {
  if (!ok)
    throw std::logic_error(fmt::format(
        "contract broken: {} (this is a bug in Rollcall); please report it", condition));
}

}  // namespace rollcall
