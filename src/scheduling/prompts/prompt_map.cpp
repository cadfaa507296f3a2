// Matches prompts by content; among equal prompts, the k-th is matched with the k-th.
#include "scheduling/prompts/prompt_map.hpp"

#include <unordered_map>

namespace rollcall::scheduling {

PromptMap::PromptMap(const std::vector<std::uint64_t>& then, const std::vector<std::uint64_t>& now)
    : now_(then.size(), -1) {
  // descending, so that the first is taken from the back
  std::unordered_map<std::uint64_t, std::vector<std::int64_t>> places;
  for (std::size_t p = now.size(); p-- > 0;) places[now[p]].push_back(std::int64_t(p));
  for (std::size_t p = 0; p < then.size(); ++p) {
    const auto found = places.find(then[p]);
    if (found == places.end() || found->second.empty()) continue;
    now_[p] = found->second.back();
    found->second.pop_back();
    ++kept_;
  }
}

std::optional<PromptId> PromptMap::now(std::uint64_t then) const {
  if (then >= now_.size() || now_[then] < 0) return {};
  return PromptId{std::uint64_t(now_[then])};
}

}  // namespace rollcall::scheduling
