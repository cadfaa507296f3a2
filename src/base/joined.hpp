// Words between separators, as one plain function: fmt::join is a template that each file compiles.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rollcall {

std::string joined(const std::vector<std::string>& words, std::string_view separator);

}  // namespace rollcall
