// Finds the prompts of an archive among those of the run. Question and reference answer are
// compared, because another run file may number the prompts otherwise.
#pragma once

#include "io/archive.hpp"
#include "run/context/run_texts.hpp"

#include <cstdint>
#include <map>
#include <set>
#include <utility>

namespace rollcall::run {

/// Numbers of foreign prompts, which the run does not have, begin here: above those of any task and
/// below those of derived prompts. The number of a foreign prompt follows from its content.
inline constexpr std::uint64_t kFirstForeign = std::uint64_t{1} << 38;
bool is_foreign(PromptId prompt);

class StoredPrompts {
 public:
  explicit StoredPrompts(const RunTexts& texts);
  /// The run's number of the group's prompt. It is the stored number where the run has the same
  /// content there, else the number of another prompt with that content, else a foreign number.
  PromptId of(const io::ArchivedGroup& group) const;

 private:
  std::set<std::pair<std::uint64_t, std::uint64_t>>
      known_;  ///< hash of a prompt's content, and number of that prompt in the run
};

}  // namespace rollcall::run
