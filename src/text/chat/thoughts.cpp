// Matches the tags of thoughts from the first one on. A nested thought ends with the outer one.
#include "text/chat/thoughts.hpp"

#include "text/answer/answer_text.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace rollcall::text {
namespace {

using Tags = std::pair<std::string_view, std::string_view>;
constexpr std::array kThoughts = {Tags{"<think>", "</think>"}, Tags{"<thinking>", "</thinking>"}};

/// The text without the thoughts between one pair of tags. The thoughts are added to `thought`.
std::string without(std::string_view text, const Tags& tags, std::string& thought) {
  const auto& [open, close] = tags;
  std::string said;
  for (std::size_t begin = 0;;) {
    const std::size_t end = text.find(close, begin);
    if (end == std::string_view::npos) return said + std::string(text.substr(begin));
    const std::string_view stretch = text.substr(begin, end - begin);
    const std::size_t opened = stretch.find(open),
                      inside = opened == std::string_view::npos ? 0 : opened + open.size();
    // Without an opening tag, the thought began before the text.
    if (opened == std::string_view::npos) thought += std::exchange(said, std::string());
    else said += std::string(stretch.substr(0, opened));
    thought += std::string(stretch.substr(inside)) + '\n';
    said += '\n';
    begin = end + close.size();
  }
}

}  // namespace

std::string_view without_thoughts(std::string_view text, std::string& storage) {
  for (const Tags& tags : kThoughts) {
    if (text.find(tags.second) == std::string_view::npos) continue;
    std::string thought, said = without(text, tags, thought);
    storage = std::move(said), text = storage;
  }
  return text;
}

std::string_view spoken(std::string_view text, std::string& storage) {
  for (const Tags& tags : kThoughts) {
    if (text.find(tags.second) == std::string_view::npos) continue;
    std::string thought, said = without(text, tags, thought);
    storage = trim(said).empty() ? std::move(thought) : std::move(said);
    text = storage;
  }
  return text;
}

bool ends_in_thought(std::string_view text) {
  return std::any_of(kThoughts.begin(), kThoughts.end(), [&](const Tags& tags) {
    const std::size_t open = text.rfind(tags.first);
    return open != std::string_view::npos && text.find(tags.second, open) == std::string_view::npos;
  });
}

}  // namespace rollcall::text
