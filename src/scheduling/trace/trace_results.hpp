// The results of a trace's line, entry by entry, in an order that is not the line's.
#pragma once

#include "base/json.hpp"
#include "scheduling/trace/trace_prompts.hpp"

#include <cstddef>
#include <vector>

namespace rollcall::scheduling {

/// An entry of a list of results; its report has no group yet.
struct TraceResult {
  PromptId prompt;
  std::size_t place = 0;  ///< in the list
  GroupReport report{};
};

/// What entries are to state, and what of them is heard.
struct TraceColumns {
  bool shaped = true;  ///< `shaped`, where an entry has it, instead of `rewards`
  bool predicted = false, diversity = false;  ///< the policy cannot do without
};

/// Ascending by prompt. Entries of one prompt are results of its several draws and come by what
/// they hold, those of more rollouts first: whoever lists them may do so in any order. Throws
/// InputError.
std::vector<TraceResult> read_results(const nlohmann::json& entries, const char* name,
                                      const TracePrompts& prompts, const TraceColumns& columns);

}  // namespace rollcall::scheduling
