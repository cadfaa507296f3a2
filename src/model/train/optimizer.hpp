// AdamW with clipping by global norm, split into one share per rank, and a gradient sum that does
// not depend on the order of its terms.
#pragma once

#include "base/process/process_mutex.hpp"
#include "core/collectives.hpp"
#include "core/run_config.hpp"
#include "core/shared_memory.hpp"
#include "kernels/parameter_kernels.hpp"
#include "model/support/aligned_floats.hpp"
#include "model/support/team.hpp"
#include "model/tensors/weights.hpp"
#include "model/train/gradient_mask.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace rollcall::model {

/// The learning rate at `step` of `steps`, counted from 1: linear warm-up, then lr, or a linear or
/// cosine decay (Loshchilov and Hutter 2017, eq. 5, without restarts) to lr * min_lr_ratio.
double learning_rate(const OptimizerSection& settings, std::int64_t step, double steps);

/// The offsets [ranks + 1] at which the flat buffer of `size` elements is cut into shares. Rank s
/// has the elements [offsets[s], offsets[s + 1]): it receives their gradient, holds their moments
/// and computes their new weights (ZeRO stage 1; Rajbhandari et al. 2020, section 5.1). Cuts are at
/// blocks of the norm. A share has at least 1 MiB of moments, because creating and syncing a
/// smaller file in each checkpoint is not worth the time. In a small model the last shares are
/// therefore empty. Checkpoints are cut in the same way, so a different rule would be a different
/// format.
std::vector<std::int64_t> optimizer_shares(std::int64_t size, int ranks);
/// The number of ranks whose share is not empty. They are the first ranks.
std::int64_t ranks_with_share(std::span<const std::int64_t> share_offsets);

/// One rank's share of a gradient.
struct GradientShare {
  std::span<const float> values;
  std::int64_t begin = 0;              ///< place of the first value in the buffer
  double norm = 0.0;                   ///< the norm of the whole gradient
  const GradientMask* mask = nullptr;  ///< which weights of the share train; null: all of them
};

/// The memory and the exchanges of a sum that several ranks compute together, each in its share.
/// All ranks of a node add into the same memory, so no rank holds its own sum. Then each share is
/// exchanged with the other nodes.
struct SharedSum {
  std::vector<std::int64_t> share_offsets{};  ///< from optimizer_shares()
  int own_share = 0;                          ///< index of this rank's share
  SharedMemory memory{};                      ///< GradientSum::bytes(), shared by the node
  Collectives* node = nullptr;                ///< the ranks that add into `memory`
  struct Across {
    Collectives* ranks;
    std::vector<std::int64_t> share_offsets;  ///< [ranks->size() + 1] where members' shares begin
  };
  /// The exchanges with other nodes that this rank takes part in. Together they cover the elements
  /// that it sets to zero, which are at least those of its share.
  std::vector<Across> across{};
};

/// Whether the exponents of a fixed-point sum were right for all micro-batches of a step.
enum class SumOutcome { ready, repeat, nonfinite };
/// The largest number of attempts at an exact sum, each with different exponents. In practice one
/// or two suffice.
inline constexpr int kMostSumAttempts = 8;

/// The exponents of a fixed-point sum, one per tensor. They follow the largest elements of the
/// micro-batches of all ranks, so the decision to repeat does not depend on the number of
/// ranks. A repeat with the same micro-batches always ends with `ready`.
class SumExponents {
 public:
  explicit SumExponents(std::size_t tensors);
  int of(std::size_t t) const { return int(exponent_[t]); }
  void start();  ///< forgets what was noted; called before the first micro-batch of a sum
  /// Notes the largest |element| of a part of a micro-batch, or infinity if an element is not
  /// finite.
  void note(std::size_t t, double largest);
  void end_micro_batch() { ++micro_batches_; }
  /// Compares what all ranks have noted with the exponents. On `repeat` it has corrected them.
  /// Collective.
  SumOutcome decide(Collectives& ranks);
  /// After `ready`, once the sum's exponents are no longer needed: moves them to the middle of
  /// their window for the next step.
  void centre();
  const std::vector<std::int64_t>& all() const { return exponent_; }
  void set(std::span<const std::int64_t> exponents);  ///< throws StorageError

 private:
  bool fit(std::int64_t low, std::int64_t high, std::int64_t centre);

  std::vector<std::int64_t> exponent_;  ///< [tensors]
  std::vector<double> largest_;         ///< [tensors]
  std::int64_t micro_batches_ = 0, centre_ = 0;
};

/// The norm of a gradient in shares. `squares` are the sums of squares of the blocks of this rank's
/// share, which begins at `begin` in the buffer; a block has kernels::kNormBlock elements. Each sum
/// comes from one rank only, so an integer sum over the ranks gives its exact bits to all of them.
/// Collective.
double norm_of_shares(Collectives& ranks, std::int64_t size, std::int64_t begin,
                      std::span<const double> squares);

/// The sum of micro-batches' gradients in 64-bit integers with one exponent per tensor. Its bits do
/// not depend on the order of its terms, and therefore not on the number of threads or ranks. A
/// step is start(), add() for each micro-batch, and finish(). On `repeat` the exponents have been
/// corrected, and the step starts again with the same micro-batches. That happens in the first
/// step, and when a gradient has grown or shrunk a lot.
class GradientSum {
 public:
  /// Every rank computes the sum itself and gets the whole gradient. `threads` share the work over
  /// all elements.
  explicit GradientSum(const WeightLayout& layout, Threads threads = {});
  /// Every rank gets its share of the gradient. Collective over the node.
  GradientSum(const WeightLayout& layout, SharedSum shared, Threads threads = {});
  static std::size_t bytes(const WeightLayout& layout);  ///< bytes of memory for a sum
  void start();  ///< sets the sum to zero unless it is cleared; collective over the node
  /// Sets this rank's part of the sum to zero after its gradient has been used. The next start()
  /// then does not wait for other ranks, so the node's ranks need a barrier before it.
  void clear();
  /// Adds a part of a micro-batch's gradient, as a GradientSink receives it. end_micro_batch()
  /// follows the last part. Thread-safe: parts of one or several micro-batches may come at the same
  /// time.
  void add(TensorId tensor, std::int64_t first, std::span<const float> values);
  void end_micro_batch();
  /// Adds a whole micro-batch's gradient in layout order, with its end.
  void add(std::span<const float> micro_batch_gradient);
  using Outcome = SumOutcome;
  Outcome finish(Collectives& ranks);  ///< collective over the update ranks
  GradientShare gradient() const;      ///< valid after `ready`
  /// From now on the gradient is 0 for weights that this rank's mask freezes, also in the norm.
  /// With null no weight is frozen.
  void only(std::shared_ptr<const GradientMask> mask);
  /// The state that the next sum starts from, for checkpoints.
  const std::vector<std::int64_t>& exponents() const { return exponents_.all(); }
  void set_exponents(std::span<const std::int64_t> exponents) { exponents_.set(exponents); }

 private:
  void prepare(bool first);
  void zero();
  std::pair<std::int64_t, std::int64_t> own_share() const;
  std::vector<double> convert();

  WeightLayout layout_;
  Threads threads_;

  SharedSum shared_;  ///< without share_offsets the whole sum is this rank's
  /// value * 2^exponent in layout order. After finish() the gradient takes the place of this rank's
  /// share.
  std::span<std::int64_t> sum_;
  std::span<ProcessMutex> locks_;  ///< the locks of stripes of the sum, assigned in turn
  std::span<const float> gradient_;
  std::shared_ptr<const GradientMask> mask_;
  double norm_ = 0.0;
  bool cleared_ = false;
  SumExponents exponents_;
  std::unique_ptr<std::mutex> facts_;  ///< guards exponents_; a pointer, so that sums can be moved
};

/// First and second moments of a rank's share, and the number of steps taken.
struct OptimizerState {
  std::vector<float> m, v;
  std::int64_t step = 0;
};

/// The settings of AdamW for the next step, with clipping for a gradient of this norm. Increments
/// `steps`. The caller sets weight_decay to that of the tensor.
kernels::AdamWStep next_step(const OptimizerSection& settings, double lr, double norm,
                             std::int64_t& steps);

/// The parts in which AdamW updates a layout, cut at [parts + 1] ascending offsets. `done` is
/// called from any thread when the weights of a part have been updated, once for each part that
/// lies entirely in the rank's share.
struct AdamWParts {
  std::span<const std::int64_t> cuts{};
  std::function<void(std::size_t part)> done{};
};

/// Clips the gradient, updates the share's weights in place and advances the state. The bits do not
/// depend on how the layout is cut into shares and parts. `weights` are those of the whole layout.
/// Weights that the gradient's mask freezes keep their bits, so neither moments nor weight decay
/// move them.
void apply_adamw(const WeightLayout& layout, const OptimizerSection& settings, double lr,
                 const GradientShare& gradient, std::span<float> weights, OptimizerState& state,
                 const Threads& threads = {}, const AdamWParts& parts = {});

}  // namespace rollcall::model
