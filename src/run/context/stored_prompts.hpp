// Prompts of an archive among those of the run: matched by what was asked and its reference, since
// another run file may number them otherwise.
#pragma once

#include "io/archive.hpp"
#include "run/context/run_context.hpp"

#include <cstdint>
#include <map>
#include <set>
#include <utility>

namespace rollcall::run {

/// Prompts that the run does not have lie between those of any task and judge tasks; which number
/// one gets follows from its content.
inline constexpr std::uint64_t kFirstForeign = std::uint64_t{1} << 38;
bool is_foreign(PromptId prompt);

class StoredPrompts {
 public:
  explicit StoredPrompts(const RunContext& context);
  /// The run's number of the group's prompt: the stored one where it has the same content here,
  /// else another of that content; a foreign one where there is none.
  PromptId of(const io::ArchivedGroup& group) const;

 private:
  std::set<std::pair<std::uint64_t, std::uint64_t>> known_;  ///< content, number
};

}  // namespace rollcall::run
