// Joins words with separators.
#include "base/text/joined.hpp"

namespace rollcall {

std::string joined(const std::vector<std::string>& words, std::string_view separator) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i)
    text.append(i > 0 ? separator : "").append(words[i]);
  return text;
}

}  // namespace rollcall
