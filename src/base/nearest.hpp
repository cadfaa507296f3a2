// "Did you mean": the valid name nearest to a misspelt one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rollcall {

/// The name with the smallest edit distance (Levenshtein); empty when `valid` is empty.
std::string nearest_name(std::string_view name, const std::vector<std::string>& valid);

/// " (unknown NAME ...); valid are a, b, c; nearest is b" as a suggestion sentence.
std::string suggest_name(std::string_view name, const std::vector<std::string>& valid);

}  // namespace rollcall
