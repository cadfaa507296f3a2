// Finds the prompts of a saved state in the present table, after the training prompts have changed.
#pragma once

#include "base/numbers/id.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace rollcall::scheduling {

class PromptMap {
 public:
  /// The arguments are the content hashes when the state was saved, and now. Equal prompts are
  /// matched in order.
  PromptMap(const std::vector<std::uint64_t>& then, const std::vector<std::uint64_t>& now);
  std::optional<PromptId> now(std::uint64_t then) const;  ///< the present id of prompt `then`;
                                                          ///< empty: it is gone or unknown
  std::uint64_t kept() const { return kept_; }

 private:
  std::vector<std::int64_t> now_;  // [prompts of the saved state] the prompt's present id; -1: gone
  std::uint64_t kept_ = 0;
};

}  // namespace rollcall::scheduling
