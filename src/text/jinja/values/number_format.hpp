// Formats numbers and text according to a format specification, for the operator % and for
// str.format.
#pragma once

#include "text/jinja/values/value.hpp"

#include <string>

namespace rollcall::text::jinja {

struct FormatSpec {
  std::string fill = " ";
  char align = 0;  ///< "<", ">", "^" or "="; 0 for the type's default
  char sign = '-';
  bool alternate = false;
  char grouping = 0;  ///< "," or "_" between groups of digits; 0 for no mark
  std::int64_t width = 0, precision = -1;
  char type = 0;
};

/// Types b o x X d c.
std::string format_whole(Budget& budget, std::int64_t value, const FormatSpec& spec);
/// Types e E f F g G % and no type.
std::string format_real(Budget& budget, double value, const FormatSpec& spec);
std::string format_text(Budget& budget, std::string_view text, const FormatSpec& spec);
std::string padded(Budget& budget, std::string text, const FormatSpec& spec, char default_align,
                   std::size_t sign_length = 0);

}  // namespace rollcall::text::jinja
