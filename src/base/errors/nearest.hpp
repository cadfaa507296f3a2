// "Did you mean": the valid name nearest to a misspelt one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rollcall {

/// The name with the smallest edit distance (Levenshtein); empty when `valid` is empty.
std::string nearest_name(std::string_view name, const std::vector<std::string>& valid);

/// The suggestion of an error message: "did you mean b? valid are a, b, c". If there are many valid
/// names, it gives only the nearest, and where none is like the name, also what lists all of them:
/// `lister`, such as "rollcall schedulers".
std::string suggest_name(std::string_view name, const std::vector<std::string>& valid,
                         std::string_view lister = "the command's --help or its document");

}  // namespace rollcall
