// Goes over the text once. Special tokens are those that decode to an empty string.
#include "text/answer/fill.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace rollcall::text {

std::string filled(std::string_view text, std::span<const Place> places) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const auto place = std::find_if(places.begin(), places.end(), [&](const Place& p) {
      return text.substr(at).starts_with(p.name);
    });
    if (place == places.end()) {
      out += text[at++];
      continue;
    }
    out += place->text;
    at += place->name.size();
  }
  return out;
}

std::string without_marks(std::string_view text, std::span<const std::string> marks) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; };
  const auto same = [&](char a, char b) { return lower(a) == lower(b); };
  std::string out;
  for (const char c : text) {
    out += c;
    for (const std::string& mark : marks) {
      if (mark.empty() || out.size() < mark.size() ||
          !std::equal(mark.begin(), mark.end(), out.end() - std::ptrdiff_t(mark.size()), same))
        continue;
      out.resize(out.size() - mark.size());
      break;
    }
  }
  return out;
}

std::string without_special(const Tokenizer& tokenizer, std::string text,
                            std::span<const std::string> marks) {
  std::vector<std::string> spellings(marks.begin(), marks.end());
  text = without_marks(text, spellings);
  for (bool plain = false;;) {
    // A normalizer may turn text into a special token that is spelt differently.
    bool spelt_out = false, otherwise = false;
    for (const std::int32_t token : tokenizer.encode(text)) {
      const auto one = std::span(&token, 1);
      if (!tokenizer.decode(one).empty()) continue;
      const std::string spelt = tokenizer.decode(one, Tokenizer::Special::keep);
      if (spelt.empty()) continue;
      const bool known = std::find(spellings.begin(), spellings.end(), spelt) != spellings.end();
      const bool found = known || text.find(spelt) != std::string::npos;
      if (found && !known) spellings.push_back(spelt);
      spelt_out = spelt_out || found, otherwise = otherwise || !found;
    }
    if (!spelt_out && !otherwise) return text;
    std::string shorter = without_marks(text, spellings);
    if (shorter.size() == text.size()) {
      if (plain) return {};
      plain = true;
      std::erase_if(shorter, [](char c) {
        return static_cast<unsigned char>(c) >= 0x80 ||
               std::string_view("<>[]{}|_/\\").find(c) != std::string_view::npos;
      });
    }
    text = std::move(shorter);
  }
}

}  // namespace rollcall::text
