// AdamW with clipping by global norm, shared among ranks, and the order-free gradient sum that
// feeds it.
#pragma once

#include "base/process_mutex.hpp"
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

/// lr at 1-based `step` of `steps`: linear warm-up, then cosine to lr * min_lr_ratio.
double learning_rate(const OptimizerSection& settings, std::int64_t step, double steps);

/// How the flat buffer of `size` elements is cut for AdamW: who has share s takes the gradient of
/// [begins[s], begins[s + 1]), holds its moments and makes its new weights (ZeRO stage 1;
/// Rajbhandari et al. 2020, section 5.1). [ranks + 1]; cut at blocks of the norm. A share has at
/// least 1 MiB of moments, so that its file in a checkpoint is worth a create and an fsync: of a
/// small model the later shares are empty. Checkpoints are cut by this: another rule is another
/// format.
std::vector<std::int64_t> optimizer_shares(std::int64_t size, int ranks);
/// Those that are not: the first of them all.
std::int64_t ranks_with_share(std::span<const std::int64_t> begins);

/// One rank's share of a gradient.
struct GradientShare {
  std::span<const float> values;  ///< of the buffer from `begin` on
  std::int64_t begin = 0;
  double norm = 0.0;                   ///< of the whole gradient
  const GradientMask* mask = nullptr;  ///< of the share, where only some of its weights train
};

/// Where a sum stands that several ranks make in shares. The ranks of a node add into one memory,
/// so that none holds a sum of its own; then each share is fetched from the other nodes.
struct SharedSum {
  std::vector<std::int64_t> begins{};  ///< of all shares, as optimizer_shares()
  int own = 0;                         ///< this rank's share
  SharedMemory memory{};               ///< of the node, GradientSum::bytes() of it
  Collectives* node = nullptr;         ///< the ranks that add into it
  struct Across {
    Collectives* ranks;
    std::vector<std::int64_t> begins;  ///< [ranks->size() + 1] of the members' shares
  };
  std::vector<Across> across{};  ///< exchanges with other nodes that this rank takes part in;
                                 ///< together they cover what it zeroes, its share at least
};

/// What the exponents of a fixed-point sum come to, from all micro-batches of a step.
enum class SumOutcome { ready, repeat, nonfinite };

/// The exponents of a fixed-point sum, one a tensor, which follow the largest elements of
/// micro-batches. Decisions come from those of all ranks, so every rank count repeats alike, and a
/// repeat with the same micro-batches is always followed by `ready`.
class SumExponents {
 public:
  explicit SumExponents(std::size_t tensors);
  int of(std::size_t t) const { return int(exponent_[t]); }
  void start();                              ///< nothing has been added
  void note(std::size_t t, double largest);  ///< |element| of a part of a micro-batch; infinity
                                             ///< when one is not finite
  void end_micro_batch() { ++micro_batches_; }
  /// Behind it all ranks have noted what they have. On `repeat` the exponents have been corrected.
  /// Collective.
  SumOutcome decide(Collectives& ranks);
  void centre();  ///< after `ready`, once nothing needs those of this sum: the next step starts in
                  ///< the middle of the window
  const std::vector<std::int64_t>& all() const { return exponent_; }
  void set(std::span<const std::int64_t> exponents);  ///< throws StorageError

 private:
  bool fit(std::int64_t low, std::int64_t high, std::int64_t centre);

  std::vector<std::int64_t> exponent_;  ///< [tensors]
  std::vector<double> largest_;         ///< [tensors]
  std::int64_t micro_batches_ = 0, centre_ = 0;
};

/// The norm of a gradient in shares, from the squares of blocks of this rank's, which begins at
/// `begin` of the buffer: kernels::kNormBlock elements each. Each block's comes from one rank, so
/// that adding integers hands their bits on. Collective.
double norm_of_shares(Collectives& ranks, std::int64_t size, std::int64_t begin,
                      std::span<const double> squares);

/// Sum of micro-batch gradients as 64-bit integers with one exponent per tensor (house rule:
/// order-free, so the bits are the same for any thread or rank count).
/// Usage: start(); add() each micro-batch; finish(). On `repeat` the exponents have been corrected:
/// start and add the same micro-batches again (first step, or a gradient grew or shrank by much).
class GradientSum {
 public:
  /// Every rank sums by itself and gets the whole gradient. `threads`: for what goes over all
  /// elements.
  explicit GradientSum(const WeightLayout& layout, Threads threads = {});
  /// Every rank gets its share. Collective over the node.
  GradientSum(const WeightLayout& layout, SharedSum shared, Threads threads = {});
  static std::size_t bytes(const WeightLayout& layout);  ///< of the memory of a sum
  void start();  ///< zero the sum, unless cleared; collective over the node
  /// Zeroes what this rank does of the sum once its gradient has been used, for the next start(),
  /// which waits for nobody then: before it the node's ranks must have come together.
  void clear();
  /// A part of a micro-batch's gradient, as GradientSink takes it; then the micro-batch's end.
  /// Thread-safe: leaves and parts of one may come at the same time.
  void add(std::size_t slice, std::int64_t first, std::span<const float> values);
  void end_micro_batch();
  void add(std::span<const float> micro_batch_gradient);  ///< a whole micro-batch in one, layout
                                                          ///< order
  using Outcome = SumOutcome;
  Outcome finish(Collectives& ranks);  ///< collective over the update ranks
  GradientShare gradient() const;      ///< valid after `ready`
  /// From now on the gradient of weights that the mask of this rank's share freezes is 0, in the
  /// norm as well; null: of none.
  void only(std::shared_ptr<const GradientMask> mask);
  /// state for the checkpoint: what the next sum starts from
  const std::vector<std::int64_t>& exponents() const { return exponents_.all(); }
  void set_exponents(std::span<const std::int64_t> exponents) { exponents_.set(exponents); }

 private:
  void prepare(bool first);
  void zero();
  std::pair<std::int64_t, std::int64_t> own_share() const;
  std::vector<double> convert();

  WeightLayout layout_;
  Threads threads_;

  SharedSum shared_;             ///< no begins: the whole is this rank's
  std::span<std::int64_t> sum_;  ///< layout order, value * 2^exponent; after finish() the gradient
                                 ///< stands in the place of this rank's share
  std::span<ProcessMutex> locks_;  ///< of stripes of the sum, dealt round
  std::span<const float> gradient_;
  std::shared_ptr<const GradientMask> mask_;
  double norm_ = 0.0;
  bool cleared_ = false;
  SumExponents exponents_;
  std::unique_ptr<std::mutex> facts_;  ///< of exponents_; behind a pointer so that sums can be
                                       ///< moved
};

/// First and second moments of a rank's share, and the number of steps taken.
struct OptimizerState {
  std::vector<float> m, v;
  std::int64_t step = 0;
};

/// AdamW at the state's next step, of which it counts one: a gradient of this norm is clipped. The
/// decay is the tensor's.
kernels::AdamWStep next_step(const OptimizerSection& settings, double lr, double norm,
                             std::int64_t& steps);

/// Parts in which AdamW goes over a layout, [parts + 1] ascending, and what to do with one whose
/// weights are new; called from any thread, once for each part that lies in the rank's share as a
/// whole.
struct AdamWParts {
  std::span<const std::int64_t> cuts{};
  std::function<void(std::size_t part)> done{};
};

/// Clips, updates the share's weights in place, advances the state. Bitwise the same for any cut
/// into shares and parts. `weights`: of the whole layout. Weights that the gradient's mask freezes
/// keep their bits: neither moments nor weight decay move them.
void apply_adamw(const WeightLayout& layout, const OptimizerSection& settings, double lr,
                 const GradientShare& gradient, std::span<float> weights, OptimizerState& state,
                 const Threads& threads = {}, const AdamWParts& parts = {});

}  // namespace rollcall::model
