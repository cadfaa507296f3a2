// Private to the model: the interfaces through which a decode session and a micro-batch runner
// compute. One implementation uses the host's threads, the other a CUDA device. The policy's
// numerics decide which one is used.
#pragma once

#include "model/decode/row_sampler.hpp"
#include "model/engine/policy.hpp"
#include "model/engine/step_rows.hpp"
#include "model/support/team.hpp"

#include <functional>
#include <memory>
#include <string_view>

namespace rollcall::model {

inline bool runs_on_device(const PolicyModel::Packed& policy) {
  return policy.kernels->numerics == std::string_view(kernels::kCudaBf16Sliced8);
}

/// A token to be sampled from the distribution that a hidden state predicts.
struct SampleRequest {
  const float* hidden;  ///< [hidden_size] before the final norm
  double u;             ///< the random number, in [0, 1)
};

/// Computes the rows of a session's steps and samples tokens. Hidden states and pages are in the
/// memory of the engine, which may be that of a device. The session passes pointers to them on and
/// does not read through them.
class DecodeEngine {
 public:
  virtual ~DecodeEngine() = default;
  virtual PageMemory page_memory() = 0;
  virtual std::int64_t most_page_bytes() const = 0;  ///< an upper bound on the memory for pages
  /// Copies at least the first `count` positions of a page, in all layers.
  virtual void copy_positions(const std::byte* from, std::int64_t count, std::byte* to) = 0;
  /// Output of the last block, before the final norm: [n, hidden], valid until the next call.
  virtual const float* hidden(const PolicyModel::Packed& policy, StepRows& rows) = 0;
  virtual std::shared_ptr<const float> keep(const float* hidden) = 0;  ///< a copy of one row
  /// Samples a token for each request. Requests with the same hidden state are neighbours.
  virtual std::vector<SampledToken> draw(const PolicyModel::Packed& policy,
                                         std::span<const SampleRequest> draws) = 0;
};

/// An engine for policies of this one's shape and for steps of at most `rows` rows. Throws
/// ConfigError if no token can be sampled with these settings.
std::unique_ptr<DecodeEngine> make_decode_engine(const PolicyModel::Packed& policy,
                                                 const SamplingParams& sampling, Team& team,
                                                 std::int64_t rows);

/// Receives the gradients with respect to the states of targets [first, first + count): [count,
/// hidden], valid during the call. The calls come in ascending order.
using VisitStates =
    std::function<void(std::size_t first, std::size_t count, const float* gradients)>;

/// The operations of MicroBatchRunner, on the host or on a device.
class MicroBatchEngine {
 public:
  virtual ~MicroBatchEngine() = default;
  virtual Columns forward(const PolicyModel& policy, const MicroBatch& micro_batch,
                          double temperature) = 0;
  virtual FullVocabColumns forward_full_vocab(const PolicyModel& policy, const PolicyModel* second,
                                              const MicroBatch& micro_batch,
                                              double temperature) = 0;
  virtual TargetDraws draw_targets(const PolicyModel& policy, const MicroBatch& micro_batch,
                                   double temperature, const TargetDrawing& drawing) = 0;
  /// Visits the gradients with respect to the states, which MicroBatchRunner::logprob_gradients()
  /// sums.
  virtual void logprob_by_state(const PolicyModel& policy, const MicroBatch& micro_batch,
                                double temperature, const VisitStates& visit) = 0;
  virtual Columns forward_backward(const PolicyModel& policy, const MicroBatch& micro_batch,
                                   double temperature, const ColumnGradient& derivative,
                                   const GradientSink& sink) = 0;
  virtual Columns forward_backward(const PolicyModel& policy, const MicroBatch& micro_batch,
                                   double temperature, const ColumnGradient& derivative,
                                   DeviceGradients& gradients) = 0;
};

std::unique_ptr<MicroBatchEngine> make_host_micro_batches(Team& team,
                                                          std::int64_t micro_batch_bytes);

// The engines of the device. In a build without CUDA they come from no_device.cpp and throw
// EnvironmentError.
std::unique_ptr<DecodeEngine> make_device_decoding(const PolicyModel::Packed& policy,
                                                   const SamplingParams& sampling,
                                                   std::int64_t rows);
std::unique_ptr<MicroBatchEngine> make_device_micro_batches();

/// Checks that a backward pass can use this micro-batch and derivative.
void expect_trainable(const PolicyModel::Packed& policy, const MicroBatch& micro_batch,
                      const ColumnGradient& derivative);

}  // namespace rollcall::model
