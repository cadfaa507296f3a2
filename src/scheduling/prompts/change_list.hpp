// Lists the prompts that have changed since a checkpoint last took their rows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace rollcall::scheduling {

/// Each prompt is in the list at most once, so the list never becomes longer than the table.
class ChangeList {
 public:
  /// Begins an empty list for this number of prompts. If it is 0, nothing is noted.
  void restart(std::uint64_t prompts) {
    is_in_list_.assign(prompts, false);
    list_.clear();
  }
  void note(std::uint32_t prompt) {
    if (is_in_list_.empty() || is_in_list_[prompt]) return;
    is_in_list_[prompt] = true;
    list_.push_back(prompt);
  }
  /// Returns the prompts that have changed, in ascending order, and empties the list.
  std::vector<std::uint32_t> take() {
    std::sort(list_.begin(), list_.end());
    for (const std::uint32_t prompt : list_) is_in_list_[prompt] = false;
    return std::exchange(list_, {});
  }

 private:
  std::vector<bool> is_in_list_;  // [prompts] whether the prompt is in list_
  std::vector<std::uint32_t> list_;
};

}  // namespace rollcall::scheduling
