// Text taken apart and put together as Python's str does it.
#pragma once

#include "text/jinja/values/number_format.hpp"

#include <string_view>
#include <vector>

namespace rollcall::text::jinja {

// All take time in proportion to the text, however hard it is to search, and charge for it.

/// Where `wanted` begins in `s`; npos: nowhere.
std::size_t find_text(Budget& budget, std::string_view s, std::string_view wanted);
std::size_t find_last_text(Budget& budget, std::string_view s, std::string_view wanted);

// `most`: splits at most, all where it is negative. The parts point into `s`.
std::vector<std::string_view> split_space(Budget& budget, std::string_view s, std::int64_t most);
std::vector<std::string_view> split_space_right(Budget& budget, std::string_view s,
                                                std::int64_t most);
std::vector<std::string_view> split_at(Budget& budget, std::string_view s,
                                       std::string_view separator, std::int64_t most);
std::vector<std::string_view> split_at_right(Budget& budget, std::string_view s,
                                             std::string_view separator, std::int64_t most);
/// at all of Unicode's line ends
std::vector<std::string_view> lines_of(Budget& budget, std::string_view s, bool keep_ends);

std::string_view strip_set(Budget& budget, std::string_view s, std::string_view characters,
                           bool left, bool right);
std::string replaced(Budget& budget, std::string_view s, std::string_view old,
                     std::string_view with, std::int64_t most);
/// str.center, which puts the odd blank on another side than a format does
std::string centered(Budget& budget, const std::string& s, FormatSpec spec);
/// str.islower and isupper: one character of `wanted`, none of `others`
bool all_cased(std::string_view s, int wanted, int others);

}  // namespace rollcall::text::jinja
