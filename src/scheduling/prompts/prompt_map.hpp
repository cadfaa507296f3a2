// Which prompt of a saved state is which prompt of the table at hand, after the training prompts
// have changed.
#pragma once

#include "base/id.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace rollcall::scheduling {

class PromptMap {
 public:
  /// Content hashes then and now. Equal prompts are told apart by their order.
  PromptMap(const std::vector<std::uint64_t>& then, const std::vector<std::uint64_t>& now);
  std::optional<PromptId> now(std::uint64_t then) const;  ///< empty: gone, or never there
  std::uint64_t kept() const { return kept_; }

 private:
  std::vector<std::int64_t> now_;  // [prompts then] -1: gone
  std::uint64_t kept_ = 0;
};

}  // namespace rollcall::scheduling
