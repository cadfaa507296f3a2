// Joins words with separators in one plain function. fmt::join is a template that every file would
// compile again.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rollcall {

std::string joined(const std::vector<std::string>& words, std::string_view separator);

}  // namespace rollcall
