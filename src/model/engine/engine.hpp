// Private to the model: what a decode session and a micro-batch runner compute with: the host's
// team, or a CUDA device. The policy's numerics choose.
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

/// A draw from what a hidden state predicts.
struct SampleRequest {
  const float* hidden;
  double u;  ///< in [0, 1)
};

/// Rows through the policies of a session, and draws. Hidden states and pages stand where it
/// computes; the session hands pointers on and reads nothing there.
class DecodeEngine {
 public:
  virtual ~DecodeEngine() = default;
  virtual PageMemory page_memory() = 0;
  virtual std::int64_t most_page_bytes() const = 0;  ///< that pages may take
  /// At least the first `count` places of a page, in all layers.
  virtual void copy_positions(const std::byte* from, std::int64_t count, std::byte* to) = 0;
  /// Output of the last block, before the final norm: [n, hidden], valid until the next call.
  virtual const float* hidden(const PolicyModel::Packed& policy, StepRows& rows) = 0;
  virtual std::shared_ptr<const float> keep(const float* hidden) = 0;  ///< a copy of one row
  /// A token for each; draws from the same hidden state stand side by side.
  virtual std::vector<SampledToken> draw(const PolicyModel::Packed& policy,
                                         std::span<const SampleRequest> draws) = 0;
};

/// Of policies like this one, for so many rows at a time. Throws ConfigError where nothing can be
/// drawn with these settings.
std::unique_ptr<DecodeEngine> make_decode_engine(const PolicyModel::Packed& policy,
                                                 const SamplingParams& sampling, Team& team,
                                                 std::int64_t rows);

/// Gradients by the states of targets [first, first + count): [count, hidden], valid during the
/// call. In ascending order.
using VisitStates =
    std::function<void(std::size_t first, std::size_t count, const float* gradients)>;

/// What MicroBatchRunner says, of one place.
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
  /// for logprob_gradients
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

// Of the device: in src/model/device, or in a build without one in no_device.cpp, where making
// throws EnvironmentError.
std::unique_ptr<DecodeEngine> make_device_decoding(const PolicyModel::Packed& policy,
                                                   const SamplingParams& sampling,
                                                   std::int64_t rows);
std::unique_ptr<MicroBatchEngine> make_device_micro_batches();

/// The contract of a pass over a micro-batch with a derivative.
void expect_trainable(const PolicyModel::Packed& policy, const MicroBatch& micro_batch,
                      const ColumnGradient& derivative);

}  // namespace rollcall::model
