// The prompts of a trace: from the ids of its lines to places in the policy's table, and back.
#pragma once

#include "scheduling/policy.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace rollcall::scheduling {

/// Either the prompts 0 .. dense - 1, or the first line's candidates in ascending order of their ids (integers, then text).
class TracePrompts {
 public:
  explicit TracePrompts(std::optional<std::uint64_t> dense) : dense_(dense) {}
  /// The table of the first line: its `prompts`, `levels` and `priors`.
  void make(const nlohmann::json& line);
  /// A later line may repeat levels and priors, but not change them.
  void compare(const nlohmann::json& line) const;
  PromptId at(const nlohmann::json& id) const;
  nlohmann::json id_of(PromptId prompt) const { return dense_ ? nlohmann::json(prompt.value) : ids_.at(prompt.value); }
  const PromptTable& table() const { return table_; }

 private:
  std::optional<std::uint64_t> dense_;
  std::vector<nlohmann::json> ids_;  // ascending; empty for dense prompts
  PromptTable table_;
};

}  // namespace rollcall::scheduling
