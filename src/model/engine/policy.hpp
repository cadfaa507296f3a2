// A policy at one version: weights packed for the kernels. Immutable and shared by threads. What is
// sampled from it, and token columns of what was.
#pragma once

#include "base/id.hpp"
#include "core/kept_tokens.hpp"
#include "core/missed_tokens.hpp"
#include "core/plan.hpp"
#include "kernels/kernel_set.hpp"
#include "model/support/aligned_floats.hpp"
#include "model/support/team.hpp"
#include "model/tensors/weights.hpp"

#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace rollcall::model {

/// Weights wherever they stand: what a policy for forward passes alone is packed from.
class WeightSource {
 public:
  virtual ~WeightSource() = default;
  virtual bool is_bf16(std::size_t slice) const = 0;
  /// Elements [first, first + into.size()) of a slice of the layout. From any thread.
  virtual void read(std::size_t slice, std::int64_t first, std::span<float> into) const = 0;
  /// of a slice that is_bf16()
  virtual void read(std::size_t slice, std::int64_t first, std::span<std::uint16_t> into) const = 0;
};

class PolicyModel {
 public:
  /// Packs `weights` (layout of `config`) and shares them: their owner may write the next version
  /// into them once this one no longer runs.
  /// `kernels` defaults to selected_kernels().
  PolicyModel(const ModelConfig& config, std::shared_ptr<const AlignedFloats> weights,
              PolicyVersion version, const kernels::KernelSet* kernels = nullptr,
              const Threads& threads = {});
  /// The same over panels of packed_bytes() that may be shared as well, with nothing packed yet:
  /// renew() does.
  PolicyModel(const ModelConfig& config, std::shared_ptr<const AlignedFloats> weights,
              AlignedArray<std::byte> panels, const kernels::KernelSet& kernels);
  /// The same over a copy.
  PolicyModel(const ModelConfig& config, std::span<const float> weights, PolicyVersion version,
              const kernels::KernelSet* kernels = nullptr);
  /// For forward passes alone: packed from `source`, of which nothing else is kept but the
  /// embedding.
  PolicyModel(const ModelConfig& config, const WeightSource& source, PolicyVersion version,
              const kernels::KernelSet* kernels = nullptr, const Threads& threads = {});
  ~PolicyModel();
  PolicyModel(PolicyModel&&) noexcept;
  PolicyModel& operator=(PolicyModel&&) noexcept;

  /// The next version: packs the weights that it shares, as they are now, into the memory of this
  /// one; but for the parts that are new already.
  void renew(PolicyVersion version, const Threads& threads = {});
  /// The same where others who share the panels pack as well: this one packs `parts`.
  void renew(PolicyVersion version, std::span<const std::size_t> parts,
             const Threads& threads = {});
  /// Where the layout is cut into parts that are packed by themselves, [parts + 1]: the optimizer
  /// packs what it has just written while it is in the cache.
  std::span<const std::int64_t> cuts() const;
  /// The next version has been written where this policy's device reads its weights; those of the
  /// host stay behind.
  void renewed_on_device(PolicyVersion version);
  /// Packs a part whose weights are those of the next version. Different parts from different
  /// threads; nothing runs the policy until it is renewed.
  void renew_part(std::size_t part);

  const ModelConfig& config() const;
  PolicyVersion version() const;
  struct Packed;  ///< defined in policy.cpp's private header
  const Packed& packed() const { return *packed_; }

 private:
  std::unique_ptr<Packed> packed_;
};

/// Bytes of a policy's packed weights.
std::int64_t packed_bytes(const ModelConfig& config, const kernels::KernelSet& kernels);

/// One prompt and the samples wanted of it. Random numbers are addressed by (seed, step, prompt,
/// sample, token).
struct DecodeRequest {
  std::vector<std::int32_t> prompt;  ///< tokens, at least one
  std::uint64_t seed = 0;            ///< key of the random stream: run seed
  std::uint64_t step = 0;
  std::uint64_t prompt_address = 0;  ///< distinguishes prompts, draws and purposes
  std::uint32_t first_sample = 0, count = 1;
  std::int64_t given = 0;  ///< last tokens of the prompt that are the answer's beginning: stop rule
                           ///< and token limit count them
};

struct DecodedSequence {
  std::vector<std::int32_t> tokens;     ///< sampled tokens, the final end-of-sequence included
  std::vector<float> logprob, entropy;  ///< [T] of the softmax at the sampling temperature
  std::vector<std::uint64_t> versions;  ///< [T] of the policy that sampled each
  bool stopped = false;                 ///< end-of-sequence or stop text; otherwise the token limit
  std::vector<float> kept_mass{};       ///< as Turn has it; devices do not measure it
  KeptTokens kept{};                    ///< as Turn has it
};

/// Returns true when the tokens of the answer so far end the sequence (stop texts). Called after
/// every token; end-of-sequence is handled before it.
using StopRule = std::function<bool(std::span<const std::int32_t> tokens)>;
/// A rule for each new sequence, so that it may remember what it has read of it. Empty: only
/// end-of-sequence and the limit end one. Called from any thread.
using StopRules = std::function<StopRule()>;

/// A packed micro-batch: sequences one after the other, no padding. A sequence may continue
/// another, with all that stands before that one; so what several begin with stands and is computed
/// only once: a tree.
struct MicroBatch {
  std::vector<std::int32_t> tokens;   ///< [N] own tokens of all sequences
  std::vector<std::int64_t> offsets;  ///< [S+1] those of sequence i are tokens[offsets[i] ..
                                      ///< offsets[i+1])
  std::vector<std::int64_t>
      targets;  ///< [M] ascending positions of policy tokens in `tokens`: the columns. The first
                ///< token of a sequence without parent is none
  bool hidden = false;                  ///< Columns::hidden is wanted
  std::vector<std::int64_t> parents{};  ///< [S] earlier sequence, not an empty one, that sequence i
                                        ///< continues; -1: none. Empty: none has one
  KeptTokens kept{};  ///< [M] ids that the softmax of a target's columns is over, itself among them
  MissedTokens missed{};  ///< [M] other tokens in a target's place, of which Columns::miss_logprob
                          ///< is
};

/// Columns of a micro-batch's policy tokens, in the order of MicroBatch::targets.
struct Columns {
  std::vector<float> logprob, entropy;  ///< [M] nats, at the temperature given
  std::vector<float> hidden;          ///< [M, hidden_size] after the final norm, where the token is
                                      ///< predicted; only where the micro-batch wants it
  std::vector<float> miss_logprob{};  ///< [M] sum over MicroBatch::missed of share * log-prob;
                                      ///< empty where the micro-batch has none
};

/// Columns that need the whole distribution, without gradient.
struct FullVocabColumns {
  Columns columns;
  std::vector<float> sum_squares;  ///< [M] sum over the vocabulary of p^2
  std::vector<float> second_kl;    ///< [M] exact KL(policy || second); empty without a second model
};

/// What a policy would draw in the place of each target of a micro-batch.
struct TargetDraws {
  std::vector<float> hits{};          ///< [M] share of the draws that are the target
  MissedTokens missed{};              ///< [M] the others
  std::vector<float> miss_logprob{};  ///< [M] sum over them of share * log-prob, at the temperature
                                      ///< of the columns
};

/// How they are drawn.
struct TargetDrawing {
  std::int64_t draws = 1;       ///< of each target
  double temperature = 1.0;     ///< of the draws, which need not be that of the columns
  std::int64_t vocab_size = 0;  ///< ids that may be drawn; 0: all of the model
  /// in [0, 1), from any thread
  std::function<double(std::size_t target, std::int64_t draw)> uniform{};
};

/// dLoss / dcolumn, same order.
struct ColumnGradient {
  std::vector<float> logprob, entropy;  ///< [M]
  std::vector<float> miss_logprob{};    ///< [M] or empty
};

/// Takes a part of the micro-batch's d(loss)/d(weights): values of slice `slice` of the layout from
/// its element `first` on. A micro-batch gives an element at most kGradientParts parts, which add
/// up (tied embeddings: one of the embedding, one of the head); elements without a part have
/// derivative 0. Called from all threads of the team.
using GradientSink =
    std::function<void(std::size_t slice, std::int64_t first, std::span<const float> values)>;
constexpr std::int64_t kGradientParts = 2;
class DeviceGradients;  ///< takes them in the memory of a device (device/device_backward.hpp)

/// Runs leaves one after the other where their policy runs: through the kernels, each operation
/// shared out among a team, or on a device. Keeps its memory from micro-batch to micro-batch. The
/// bits depend on the micro-batch alone: not on the team, nor on what else is computed.
class MicroBatchRunner {
 public:
  static constexpr std::int64_t kKeptBytes =
      std::int64_t(1)
      << 30;  ///< most that rows of blocks take, and most that logits do: more spare little
  static constexpr std::int64_t kNoLimit = std::int64_t(1) << 62;

  /// Who calls leads `team`. What a micro-batch takes is kept under `leaf_bytes` where it can be,
  /// by computing logits, and rows of all blocks but one, again in the backward pass.
  explicit MicroBatchRunner(Team& team, std::int64_t micro_batch_bytes = kNoLimit);
  ~MicroBatchRunner();
  MicroBatchRunner(MicroBatchRunner&&) noexcept;
  MicroBatchRunner& operator=(MicroBatchRunner&&) noexcept;

  /// Columns without gradient.
  Columns forward(const PolicyModel& policy, const MicroBatch& micro_batch, double temperature);
  /// The same with what the whole distribution tells; `second` (or nullptr) is another model over
  /// the same vocabulary, at the same temperature.
  FullVocabColumns forward_full_vocab(const PolicyModel& policy, const PolicyModel* second,
                                      const MicroBatch& micro_batch, double temperature);
  /// Draws in the place of each target, whose columns are at `temperature`. Throws ConfigError for
  /// a policy on a device.
  TargetDraws draw_targets(const PolicyModel& policy, const MicroBatch& micro_batch,
                           double temperature, const TargetDrawing& drawing);
  /// For each sequence the sum over its targets, in order, of the gradient of their log-prob by the
  /// state they are predicted from (Columns::hidden): [S, hidden_size]. A sequence's numbers do not
  /// depend on the others in the micro-batch.
  std::vector<double> logprob_gradients(const PolicyModel& policy, const MicroBatch& micro_batch,
                                        double temperature);
  /// Forward, then backward from the loss's derivative by each column, block by block; weight
  /// gradients go to `sink` as they are made. Returns the columns of this forward.
  Columns forward_backward(const PolicyModel& policy, const MicroBatch& micro_batch,
                           double temperature, const ColumnGradient& derivative,
                           const GradientSink& sink);
  /// The same of a policy on a device, where the gradients stay.
  Columns forward_backward(const PolicyModel& policy, const MicroBatch& micro_batch,
                           double temperature, const ColumnGradient& derivative,
                           DeviceGradients& gradients);

  /// What forward(), logprob_gradients() and forward_backward() of a micro-batch of so many tokens
  /// take.
  static std::int64_t forward_bytes(const ModelConfig& config, std::int64_t tokens);
  static std::int64_t logprob_gradient_bytes(const ModelConfig& config,
                                             const kernels::KernelSet& kernels,
                                             std::int64_t tokens);
  /// What the logits that forward_backward() keeps where there is room add to that; 0: they are too
  /// many.
  static std::int64_t kept_logit_bytes(const ModelConfig& config, const kernels::KernelSet& kernels,
                                       std::int64_t tokens);
  static std::int64_t backward_bytes(const ModelConfig& config, const kernels::KernelSet& kernels,
                                     std::int64_t tokens, int members,
                                     std::int64_t micro_batch_bytes = kNoLimit);

 private:
  struct Engines;
  std::unique_ptr<Engines> engines_;
};

// The same for a single micro-batch, on the calling thread.
Columns forward(const PolicyModel& policy, const MicroBatch& micro_batch, double temperature);
FullVocabColumns forward_full_vocab(const PolicyModel& policy, const PolicyModel* second,
                                    const MicroBatch& micro_batch, double temperature);
std::vector<double> logprob_gradients(const PolicyModel& policy, const MicroBatch& micro_batch,
                                      double temperature);
TargetDraws draw_targets(const PolicyModel& policy, const MicroBatch& micro_batch,
                         double temperature, const TargetDrawing& drawing);
Columns forward_backward(const PolicyModel& policy, const MicroBatch& micro_batch,
                         double temperature, const ColumnGradient& derivative,
                         const GradientSink& sink);

}  // namespace rollcall::model
