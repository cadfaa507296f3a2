// Reads the results of a trace's line, and puts them into an order that does not depend on the
// line.
#pragma once

#include "base/text/json.hpp"
#include "scheduling/trace/trace_prompts.hpp"

#include <cstddef>
#include <vector>

namespace rollcall::scheduling {

/// An entry of a list of results. The group of its report is not known yet.
struct TraceResult {
  PromptId prompt;
  std::size_t place = 0;  ///< place of the entry in its list
  GroupReport report{};
};

/// What entries must state, and from which rewards the scheduler learns.
struct TraceColumns {
  bool shaped = true;  ///< the scheduler learns from `shaped`, if an entry has it, instead of
                       ///< `rewards`
  bool predicted = false, diversity = false;  ///< the scheduler needs them in every entry
};

/// The results, ascending by prompt. If a prompt has several entries, each is the result of one of
/// its draws. They are ordered by their content, those with more rollouts first, so their order in
/// the line does not matter. Throws InputError.
std::vector<TraceResult> read_results(const nlohmann::json& entries, const char* name,
                                      const TracePrompts& prompts, const TraceColumns& columns);

}  // namespace rollcall::scheduling
