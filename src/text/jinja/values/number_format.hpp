// Numbers and text laid out by a format specification: the common part of % and str.format.
#pragma once

#include "text/jinja/values/value.hpp"

#include <string>

namespace rollcall::text::jinja {

struct FormatSpec {
  std::string fill = " ";
  char align = 0;  ///< <, >, ^ or = ; 0: by type
  char sign = '-';
  bool alternate = false;
  char grouping = 0;  ///< , or _
  std::int64_t width = 0, precision = -1;
  char type = 0;
};

/// types b o x X d c
std::string format_whole(Budget& budget, std::int64_t value, const FormatSpec& spec);
/// types e E f F g G %, none
std::string format_real(Budget& budget, double value, const FormatSpec& spec);
std::string format_text(Budget& budget, std::string_view text, const FormatSpec& spec);
std::string padded(Budget& budget, std::string text, const FormatSpec& spec, char default_align,
                   std::size_t sign_length = 0);

}  // namespace rollcall::text::jinja
