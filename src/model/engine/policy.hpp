// A policy at one version, that is its weights packed for the kernels, and what is computed with
// it: samples, and token columns with their gradients.
#pragma once

#include "base/numbers/id.hpp"
#include "core/kept_tokens.hpp"
#include "core/missed_tokens.hpp"
#include "core/plan.hpp"
#include "core/token_columns.hpp"
#include "kernels/kernel_set.hpp"
#include "model/support/aligned_floats.hpp"
#include "model/support/team.hpp"
#include "model/tensors/weights.hpp"

#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace rollcall::model {

/// A source of weights, for example files, from which a policy for forward passes only is packed.
class WeightSource {
 public:
  virtual ~WeightSource() = default;
  virtual bool is_bf16(TensorId tensor) const = 0;  ///< whether a tensor is in bf16
  /// Reads elements [first, first + into.size()) of a tensor. Called from any thread.
  virtual void read(TensorId tensor, std::int64_t first, std::span<float> into) const = 0;
  /// Reads bf16 elements from a tensor for which is_bf16() is true.
  virtual void read(TensorId tensor, std::int64_t first, std::span<std::uint16_t> into) const = 0;
};

/// A language model whose weights are packed for the kernels. Threads share it; only renew() and
/// its relatives change it.
class PolicyModel {
 public:
  /// Packs `weights` (in the layout of `config`) and shares their memory. Their owner may write the
  /// next version into it once no pass of this one is running. `kernels` defaults to
  /// selected_kernels().
  PolicyModel(const ModelConfig& config, std::shared_ptr<const AlignedFloats> weights,
              PolicyVersion version, const kernels::KernelSet* kernels = nullptr,
              const Threads& threads = {});
  /// Shares the memory of `weights`, and uses panels of packed_bytes() that the caller provides and
  /// may share. Nothing is packed before renew().
  PolicyModel(const ModelConfig& config, std::shared_ptr<const AlignedFloats> weights,
              AlignedArray<std::byte> panels, const kernels::KernelSet& kernels);
  /// Packs a copy of the weights.
  PolicyModel(const ModelConfig& config, std::span<const float> weights, PolicyVersion version,
              const kernels::KernelSet* kernels = nullptr);
  /// For forward passes only. Packs the matrices that it reads from `source`, and keeps unpacked
  /// only the embedding, norms and biases.
  PolicyModel(const ModelConfig& config, const WeightSource& source, PolicyVersion version,
              const kernels::KernelSet* kernels = nullptr, const Threads& threads = {});
  ~PolicyModel();
  PolicyModel(PolicyModel&&) noexcept;
  PolicyModel& operator=(PolicyModel&&) noexcept;

  /// Becomes the next version: packs the shared weights as they are now, except for parts that
  /// renew_part() has packed already.
  void renew(PolicyVersion version, const Threads& threads = {});
  /// Becomes the next version when several policies share the panels. This one packs `parts`.
  void renew(PolicyVersion version, std::span<const std::size_t> parts,
             const Threads& threads = {});
  /// Where the layout is cut into parts that can be packed separately, [parts + 1] elements. The
  /// optimizer packs each part right after it has written it, while it is in the cache.
  std::span<const std::int64_t> cuts() const;
  /// Becomes the next version after its weights have been written where the policy's device reads
  /// them. The weights on the host stay old.
  void renewed_on_device(PolicyVersion version);
  /// Packs a part whose weights are those of the next version already. Threads may pack different
  /// parts at the same time. No pass may run until renew().
  void renew_part(std::size_t part);

  const ModelConfig& config() const;
  PolicyVersion version() const;
  struct Packed;  ///< defined in packed_policy.hpp, which is private to the model
  const Packed& packed() const { return *packed_; }

 private:
  std::unique_ptr<Packed> packed_;
};

/// Bytes of the packed weights of a policy.
std::int64_t packed_bytes(const ModelConfig& config, const kernels::KernelSet& kernels);

/// One prompt and the samples wanted from it. Random numbers are addressed by (seed, step, prompt,
/// sample, token).
struct DecodeRequest {
  std::vector<std::int32_t> prompt;  ///< tokens, at least one
  std::uint64_t seed = 0;            ///< seed of the run, as key of the random stream
  std::uint64_t step = 0;
  std::uint64_t prompt_address = 0;  ///< distinguishes prompts, draws and purposes
  std::uint32_t first_sample = 0, count = 1;
  /// How many of the prompt's last tokens are the beginning of the answer. The stop rule and the
  /// token limit count them.
  std::int64_t given = 0;
  /// The most tokens that the first turn may sample; 0: sampling.max_new_tokens - given.
  std::int64_t most = 0;
  /// How many of the samples are opened; the others are forked from those. 0: all of them. A
  /// request with forks stays in one session.
  std::uint32_t unforked = 0;
};

struct DecodedSequence {
  std::vector<std::int32_t> tokens;     ///< sampled tokens, including the end-of-sequence token
  TokenColumns columns;                 ///< [T] as in Turn, without miss_logprob
  std::vector<std::uint64_t> versions;  ///< [T] version of the policy that sampled each token
  bool stopped = false;                 ///< ended by end-of-sequence or stop text, not by the limit
  std::vector<float> kept_mass{};       ///< as in Turn (core/rollout.hpp); empty from a device
  KeptTokens kept{};                    ///< as in Turn (core/rollout.hpp)
  /// [T] probabilities of the tokenizer's two likeliest tokens at each position, in the softmax
  /// over the whole vocabulary at the sampling temperature; empty unless
  /// SamplingParams::two_likeliest.
  std::vector<float> likeliest{}, runner_up{};
};

/// Returns true when the tokens of an answer end the sequence, for example by a stop text. It is
/// called after every token that is not an end-of-sequence token.
using StopRule = std::function<bool(std::span<const std::int32_t> tokens)>;
/// Makes a rule for each new sequence, so that a rule may keep state about its sequence. If empty,
/// sequences end only by end-of-sequence or the limit. Called from any thread.
using StopRules = std::function<StopRule()>;

/// A packed micro-batch: sequences one after another, without padding. A sequence may continue
/// another one, its parent, together with all that the parent continues. So the sequences form a
/// tree, and a beginning that several share is stored and computed once.
struct MicroBatch {
  std::vector<std::int32_t> tokens;  ///< [N] of all sequences, each without its parents' tokens
  /// [S+1] the tokens of sequence i are tokens[offsets[i] .. offsets[i+1]).
  std::vector<std::int64_t> offsets;
  /// [M] ascending positions in `tokens` of the policy's tokens. Each has a column. The first token
  /// of a sequence without a parent cannot be one of them.
  std::vector<std::int64_t> targets;
  bool hidden = false;  ///< whether Columns::hidden is requested
  /// [S] the earlier, non-empty sequence that sequence i continues, or -1. Empty if no sequence
  /// continues another.
  std::vector<std::int64_t> parents{};
  /// [M] the ids over which a target's columns take the softmax, including the target.
  KeptTokens kept{};
  /// [M] other tokens at a target's position, for Columns::miss_logprob.
  MissedTokens missed{};
};

/// Columns of a micro-batch: one number per target, in the order of MicroBatch::targets, at the
/// temperature of the call. miss_logprob is empty if the micro-batch has no missed tokens.
struct Columns : TokenColumns {
  /// [M, hidden_size] the state from which each target is predicted, after the final norm. Empty
  /// unless the micro-batch requests it.
  std::vector<float> hidden{};
};

/// Columns that need the whole distribution. They have no gradient.
struct FullVocabColumns {
  Columns columns;
  std::vector<float> sum_squares;  ///< [M] sum over the vocabulary of p^2
  std::vector<float> second_kl;    ///< [M] exact KL(policy || second); empty without a second model
};

/// What a policy samples at the position of each target of a micro-batch.
struct TargetDraws {
  std::vector<float> hits{};  ///< [M] share of the samples that are the target
  MissedTokens missed{};      ///< [M] the other samples
  TokenColumns columns{};     ///< [M] columns of the targets, with the sums over `missed`
};

/// How the tokens of TargetDraws are sampled.
struct TargetDrawing {
  std::int64_t draws = 1;       ///< samples for each target
  double temperature = 1.0;     ///< of the samples; the columns may use another one
  std::int64_t vocab_size = 0;  ///< ids below this one may be sampled; 0: all ids of the model
  /// The random number in [0, 1) for each sample. Called from any thread.
  std::function<double(std::size_t target, std::int64_t draw)> uniform{};
};

/// The derivative of the loss with respect to each column, per nat, in the order of the targets.
/// miss_logprob may be empty, and is 0 then.
using ColumnGradient = TokenColumns;

/// Receives part of a micro-batch's gradient with respect to the weights: values of a tensor from
/// its element `first` on. An element receives at most kGradientParts values per micro-batch, which
/// add up. Tied embeddings, for example, receive one from the embedding and one from the head.
/// Elements that receive no value have derivative 0. Called from all threads of the team.
using GradientSink =
    std::function<void(TensorId tensor, std::int64_t first, std::span<const float> values)>;
constexpr std::int64_t kGradientParts = 2;
class DeviceGradients;  ///< receives gradients in device memory (device/device_backward.hpp)

/// Computes micro-batches one after another, either with the kernels of the host, where a team
/// shares each operation, or on a device. The policy's numerics decide which. It keeps its memory
/// from one micro-batch to the next. The bits depend on the micro-batch only, not on the team or on
/// what else is computed.
class MicroBatchRunner {
 public:
  /// Bound on the bytes of kept rows of blocks, and also on those of kept logits. More would save
  /// little time.
  static constexpr std::int64_t kKeptBytes = std::int64_t(1) << 30;
  static constexpr std::int64_t kNoLimit = std::int64_t(1) << 62;

  /// The calling thread must lead `team`. A micro-batch that would take more than
  /// `micro_batch_bytes` computes logits, and the rows of all blocks but one, again in its backward
  /// pass.
  explicit MicroBatchRunner(Team& team, std::int64_t micro_batch_bytes = kNoLimit);
  ~MicroBatchRunner();
  MicroBatchRunner(MicroBatchRunner&&) noexcept;
  MicroBatchRunner& operator=(MicroBatchRunner&&) noexcept;

  /// Columns without gradient.
  Columns forward(const PolicyModel& policy, const MicroBatch& micro_batch, double temperature);
  /// Columns without gradient, including those that need the whole distribution. `second` is
  /// another model over the same vocabulary, at the same temperature, or nullptr.
  FullVocabColumns forward_full_vocab(const PolicyModel& policy, const PolicyModel* second,
                                      const MicroBatch& micro_batch, double temperature);
  /// Samples tokens at the position of each target. `temperature` is that of the columns. Throws
  /// ConfigError for a policy on a device.
  TargetDraws draw_targets(const PolicyModel& policy, const MicroBatch& micro_batch,
                           double temperature, const TargetDrawing& drawing);
  /// For each sequence the sum, over its targets in order, of the gradient of the target's log-prob
  /// with respect to the state that predicts it (Columns::hidden): [S, hidden_size]. A sequence's
  /// numbers do not depend on other sequences in the micro-batch.
  std::vector<double> logprob_gradients(const PolicyModel& policy, const MicroBatch& micro_batch,
                                        double temperature);
  /// Forward pass, then backward pass from the derivatives of the loss with respect to the columns.
  /// Gradients of weights go to `sink` block by block, as they are computed. Returns the columns of
  /// the forward pass.
  Columns forward_backward(const PolicyModel& policy, const MicroBatch& micro_batch,
                           double temperature, const ColumnGradient& derivative,
                           const GradientSink& sink);
  /// Forward and backward pass of a policy on a device, where the gradients stay.
  Columns forward_backward(const PolicyModel& policy, const MicroBatch& micro_batch,
                           double temperature, const ColumnGradient& derivative,
                           DeviceGradients& gradients);

  /// Bytes that forward() takes for a micro-batch with `tokens` tokens. Below are those of
  /// logprob_gradients() and forward_backward().
  static std::int64_t forward_bytes(const ModelConfig& config, std::int64_t tokens);
  static std::int64_t logprob_gradient_bytes(const ModelConfig& config,
                                             const kernels::KernelSet& kernels,
                                             std::int64_t tokens);
  /// Bytes of the logits that forward_backward() keeps if there is room. 0 if they are too many to
  /// be kept.
  static std::int64_t kept_logit_bytes(const ModelConfig& config, const kernels::KernelSet& kernels,
                                       std::int64_t tokens);
  static std::int64_t backward_bytes(const ModelConfig& config, const kernels::KernelSet& kernels,
                                     std::int64_t tokens, int members,
                                     std::int64_t micro_batch_bytes = kNoLimit);

 private:
  struct Engines;
  std::unique_ptr<Engines> engines_;
};

// These compute a single micro-batch on the calling thread, as MicroBatchRunner does.
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
