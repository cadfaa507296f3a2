// The wording that roll calls and watches share.
#include "comm/rank_groups.hpp"

#include "comm/communicator.hpp"

#include <fmt/format.h>

namespace rollcall::comm {

std::string name_ranks(const std::vector<int>& ranks) {
  return fmt::format("{} {}", ranks.size() == 1 ? "rank" : "ranks", number_ranges(ranks));
}

std::vector<std::string> waiting_sentences(const std::map<std::string, std::vector<int>>& by_wait) {
  std::vector<std::string> sentences;
  for (const auto& [what, ranks] : by_wait)
    sentences.push_back(
        fmt::format("{} {} {}", name_ranks(ranks), ranks.size() == 1 ? "waits" : "wait", what));
  return sentences;
}

std::string wait_within(const std::string& waits, const std::string& activity) {
  return waits + (activity.empty() ? "" : " in the " + activity);
}

}  // namespace rollcall::comm
