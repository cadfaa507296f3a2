// Private to the model: work that is repeated from step to step, kept as CUDA graphs.
#pragma once

#include "kernels/cuda/device_memory.hpp"
#include "model/device/device_policy.hpp"

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>

namespace rollcall::model {

/// The number of rows to which a launch of `rows` rows is padded, so that a few graphs cover all
/// numbers of rows. It is a multiple of a quarter of the next power of two, or of a product's tile
/// if the tile is smaller.
std::int64_t filled_rows(std::int64_t rows);

/// The graphs of one policy, found by the kind of work and the number of rows. All other arguments
/// of the launches stay the same. That includes the addresses of the weights, whichever version
/// they hold. The first time, work is launched call by call, which also loads its kernels. The
/// second time it is captured.
class StepGraphs {
 public:
  enum class Work { rows, draws };
  static constexpr std::size_t kMost = 16;  ///< graphs; the least recently used one is dropped

  /// Queues `work`, or the graph that was captured from it.
  void run(const std::shared_ptr<const OnDevice>& policy, Work what, std::int64_t rows,
           kernels::ExecutionContext& context, const std::function<void()>& work);

 private:
  struct Known {
    Work what;
    std::int64_t rows;
    std::optional<kernels::cuda::Graph> graph;
  };
  std::weak_ptr<const OnDevice> policy_;
  std::list<Known> known_;  ///< the most recently used first
};

}  // namespace rollcall::model
