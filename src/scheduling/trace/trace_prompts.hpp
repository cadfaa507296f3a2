// The prompts of a trace: converts ids in its lines to places in the scheduler's table, and back.
#pragma once

#include "base/text/json.hpp"
#include "scheduling/scheduler.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace rollcall::scheduling {

/// The prompts are either 0 .. dense - 1, or the first line's candidates in ascending order of
/// their ids (integers first, then text).
class TracePrompts {
 public:
  explicit TracePrompts(std::optional<std::uint64_t> dense) : dense_(dense) {}
  /// Makes the table from the first line: its `prompts`, `levels`, `priors` and `domains`. Domains
  /// are numbered in ascending order.
  void make(const nlohmann::json& line);
  /// Throws InputError if the scheduler needs `priors` or `domains` and the first line does not
  /// state them for every prompt.
  void check_needs(const Scheduler& policy, const nlohmann::json& line) const;
  /// Throws InputError if a later line changes levels, priors or domains; it may repeat them.
  void compare(const nlohmann::json& line) const;
  PromptId at(const nlohmann::json& id) const;
  nlohmann::json id_of(PromptId prompt) const {
    return dense_ ? nlohmann::json(prompt.value) : ids_.at(prompt.value);
  }
  const PromptTable& table() const { return table_; }

 private:
  std::optional<std::uint64_t> dense_;
  std::vector<nlohmann::json> ids_;      // ascending; empty for dense prompts
  std::vector<nlohmann::json> domains_;  // ascending; empty if the first line states none
  PromptTable table_;
};

}  // namespace rollcall::scheduling
