// "Did you mean": the valid name nearest to a misspelt one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rollcall {

/// The name with the smallest edit distance (Levenshtein); empty when `valid` is empty.
std::string nearest_name(std::string_view name, const std::vector<std::string>& valid);

/// "valid are a, b, c". If there are more than 20 names, it refers to `lister`, such as "rollcall
/// schedulers", which lists all of them.
std::string valid_names(const std::vector<std::string>& valid,
                        std::string_view lister = "the command's --help or its document");

/// The suggestion of an error message: "did you mean b? valid are a, b, c". It asks only about a
/// name for which is_near() is true. If none is near, it gives only valid_names(). If there are
/// more than 20 names and there is a guess, it lists no others.
std::string suggest_name(std::string_view name, const std::vector<std::string>& valid,
                         std::string_view lister = "the command's --help or its document");

}  // namespace rollcall
