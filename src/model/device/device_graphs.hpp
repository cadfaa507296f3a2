// Private to the model: the work of steps that are alike, kept as CUDA graphs.
#pragma once

#include "kernels/cuda/device_memory.hpp"
#include "model/device/device_policy.hpp"

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>

namespace rollcall::model {

/// So many rows that launches of fewer are filled up to, so that few graphs serve all numbers:
/// whole quarters of the next power of two, a product's tile.
std::int64_t filled_rows(std::int64_t rows);

/// Graphs of one policy, by what is done and for how many rows: all else that kernels are launched
/// with stays the same, weights' addresses included, whatever version stands there. Work is
/// launched call by call where it is new, which also loads its kernels, and captured when it comes
/// again.
class StepGraphs {
 public:
  enum class Work { rows, draws };
  static constexpr std::size_t kMost = 16;  ///< beyond, what was not needed for longest is dropped

  /// Queues `work`, or the graph that was made of it.
  void run(const std::shared_ptr<const OnDevice>& policy, Work what, std::int64_t rows,
           kernels::ExecutionContext& context, const std::function<void()>& work);

 private:
  struct Known {
    Work what;
    std::int64_t rows;
    std::optional<kernels::cuda::Graph> graph;
  };
  std::weak_ptr<const OnDevice> policy_;
  std::list<Known> known_;  ///< the latest first
};

}  // namespace rollcall::model
