// One pass over the text; special tokens are those that decode to nothing.
#include "text/fill.hpp"

#include <algorithm>
#include <cstdint>

namespace rollcall::text {

std::string filled(std::string_view text, std::span<const Place> places) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const auto place = std::find_if(places.begin(), places.end(), [&](const Place& p) { return text.substr(at).starts_with(p.name); });
    if (place == places.end()) {
      out += text[at++];
      continue;
    }
    out += place->text;
    at += place->name.size();
  }
  return out;
}

std::string without_special(const Tokenizer& tokenizer, std::string text) {
  for (bool again = true; again;) {
    again = false;
    for (const std::int32_t token : tokenizer.encode(text)) {
      const auto one = std::span(&token, 1);
      if (!tokenizer.decode(one).empty()) continue;
      const std::string spelt = tokenizer.decode(one, Tokenizer::Special::keep);
      if (spelt.empty()) continue;
      for (std::size_t at = text.find(spelt); at != std::string::npos; at = text.find(spelt, at)) text.erase(at, spelt.size()), again = true;
    }
  }
  return text;
}

}  // namespace rollcall::text
