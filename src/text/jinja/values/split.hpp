// Splits, searches and replaces text as Python's str does.
#pragma once

#include "text/jinja/values/number_format.hpp"

#include <string_view>
#include <vector>

namespace rollcall::text::jinja {

// All functions take time proportional to the length of the text, no matter what is in it, and
// charge the budget for it.

/// The first place of `wanted` in `s`; npos if it is not there.
std::size_t find_text(Budget& budget, std::string_view s, std::string_view wanted);
std::size_t find_last_text(Budget& budget, std::string_view s, std::string_view wanted);

// The functions below split at most `limit` times, or as often as possible if `limit` is negative.
// The parts point into `s`.
std::vector<std::string_view> split_space(Budget& budget, std::string_view s, std::int64_t limit);
std::vector<std::string_view> split_space_right(Budget& budget, std::string_view s,
                                                std::int64_t limit);
std::vector<std::string_view> split_at(Budget& budget, std::string_view s,
                                       std::string_view separator, std::int64_t limit);
std::vector<std::string_view> split_at_right(Budget& budget, std::string_view s,
                                             std::string_view separator, std::int64_t limit);
/// Splits at every Unicode line end.
std::vector<std::string_view> lines_of(Budget& budget, std::string_view s, bool keep_ends);

std::string_view strip_set(Budget& budget, std::string_view s, std::string_view characters,
                           bool left, bool right);
std::string replaced(Budget& budget, std::string_view s, std::string_view old,
                     std::string_view with, std::int64_t limit);
/// Python's str.center. It may put an odd blank on the opposite side from a format.
std::string centered(Budget& budget, const std::string& s, FormatSpec spec);
/// Whether Python's str.islower or str.isupper is true: at least one character has the flags
/// `wanted`, and no character has the flags `others`.
bool all_cased(std::string_view s, int wanted, int others);

}  // namespace rollcall::text::jinja
