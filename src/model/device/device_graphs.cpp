// Which graph is launched, made or dropped.
#include "model/device/device_graphs.hpp"

#include <algorithm>
#include <bit>

namespace rollcall::model {

std::int64_t filled_rows(std::int64_t rows) {
  const auto quarter = std::clamp<std::int64_t>(
      std::int64_t(std::bit_ceil(std::uint64_t(rows))) / 4, 1, kernels::kPageKeys);
  return (rows + quarter - 1) / quarter * quarter;
}

void StepGraphs::run(const std::shared_ptr<const OnDevice>& policy, Work what, std::int64_t rows,
                     kernels::ExecutionContext& context, const std::function<void()>& work) {
  if (policy_.lock() != policy) known_.clear(), policy_ = policy;
  const auto found = std::find_if(known_.begin(), known_.end(), [&](const Known& known) {
    return known.what == what && known.rows == rows;
  });
  if (found == known_.end()) {
    if (known_.size() == kMost) known_.pop_back();
    known_.push_front({what, rows, {}});
    return work();
  }
  known_.splice(known_.begin(), known_, found);
  if (!found->graph) found->graph.emplace(context, work);
  found->graph->launch(context);
}

}  // namespace rollcall::model
