// Numbers written for people.
#pragma once

#include <cstdint>
#include <string>

namespace rollcall::report {

std::string grouped(std::int64_t value);  ///< 1234567 -> "1,234,567"
std::string compact(double value);        ///< four significant digits; thousands from 10,000 on as
                                          ///< "12.3k", "4.5M"; "n/a" for NaN
std::string duration(double seconds);  ///< "4.2 s", "3 min 05 s", "2 h 07 min", "3 d 04 h"; "n/a"
                                       ///< when not finite

}  // namespace rollcall::report
