// Private to the model: the backward pass, block by block from the last to the first, over the same
// kernels as the forward.
#pragma once

#include "model/engine/backend.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace rollcall::model {

/// Gradients of one micro-batch's weights, handed to the sink as they are made (an empty one:
/// nobody wants them). Products of gradients are `linear` on transposed operands, in the numerics
/// of the policy; the rest is fp32. Every sum runs over rows in ascending order, whoever computes
/// it, so the bits depend on the micro-batch alone.
class Backward {
 public:
  Backward(const PolicyModel::Packed& policy, Backend& backend, PackedSequences& sequences,
           Arena& scratch, const GradientSink& sink);
  /// Floats of `scratch` for so many rows and targets and a team of so many.
  static std::int64_t scratch_floats(const ModelConfig& config, const kernels::KernelSet& kernels,
                                     std::int64_t rows, std::int64_t targets, int members);
  /// the same for states() alone
  static std::int64_t state_floats(const ModelConfig& config, const kernels::KernelSet& kernels,
                                   std::int64_t targets);

  /// What the head's backward pass needs of its forward pass.
  struct Predictions {
    std::span<const std::int64_t> rows;     ///< [M] at which targets are predicted
    std::span<const std::int32_t> targets;  ///< [M]
    std::span<const float> lse, entropy;    ///< [M]
    const float* normed;                    ///< [M, hidden]
    const float* logits = nullptr;          ///< [M, V]; none: they are made again
    const KeptTokens* kept = nullptr;       ///< of a micro-batch; here from its `first_target` on
    std::size_t first_target = 0;
    const MissedTokens* missed = nullptr;  ///< of a micro-batch; here from its `first_target` on
  };
  /// From `hidden` [n, hidden], the last block's output, to its gradient, which stays here.
  void head(const float* hidden, const Predictions& predictions, double temperature,
            const ColumnGradient& derivative);
  /// The head alone: to the gradient by its inputs, `normed`: [M, hidden], valid until the next
  /// call. A row's bits depend on that row alone.
  const float* states(const Predictions& predictions, double temperature,
                      const ColumnGradient& derivative);
  /// Blocks must come from the last to the first.
  void block(std::size_t i, const BlockRows<Backend::Rows>& rows);
  void embedding(std::span<const std::int32_t> tokens);

 private:
  using Rows = Backend::Rows;
  /// One product's gradient by its output.
  struct Through {
    const Linear& linear;
    const float* dy;  ///< [n, outputs]
  };
  float* take(std::int64_t rows, std::int64_t width) { return scratch_->take(rows * width); }
  void* take_bytes(std::int64_t bytes) { return scratch_->take((bytes + 3) / 4); }
  /// sum of dy W over products of the same x [n, inputs], and their gradients by W and bias; `x`
  /// the input.
  float* linears(const float* x, std::span<const Through> all);
  /// The same into `dnormed`, with `part` [M, hidden] to work in.
  void states(const Predictions& predictions, double temperature, const ColumnGradient& derivative,
              float* dnormed, float* part);
  /// What other tokens of each target's place add to dlogits [rows, v] of the ids from `first` on,
  /// where the target's own
  /// derivative has their mass already.
  static void add_missed(const Predictions& predictions, const ColumnGradient& derivative,
                         float scale, std::int64_t row, std::int64_t first, std::int64_t v,
                         float* dlogits);
  const void* packed_inputs(const float* x, std::int64_t rows, std::int64_t width);
  void weights(const Linear& linear, std::int64_t first_output, std::int64_t outputs,
               const float* dy, std::int64_t rows, const void* packed_x);
  void bias(const Linear& linear, const float* dy);
  /// dx [rows, outputs] = dy [rows, linear.outputs] W.
  void inputs(const Linear& linear, const float* dy, std::int64_t rows, float* dx);
  /// Into dx, or added to it.
  void norm(const Norm& norm, const float* x, std::int64_t rows, const float* dy, float* dx,
            bool added);
  struct Heads {
    float *q, *k, *v;
  };
  Heads attention(const BlockRows<Rows>& rows, const float* dout);
  /// of sequences [first, last)
  void attention(const BlockRows<Rows>& rows, const float* dout, const Heads& d, std::size_t first,
                 std::size_t last);

  const PolicyModel::Packed* policy_;
  Backend* backend_;
  Team* team_;
  PackedSequences* sequences_;
  Arena* scratch_;
  const GradientSink* sink_;
  std::int64_t n_;
  std::vector<float*> turned_, made_;  ///< [member] an operand and a result of weights()
  float* dx_ = nullptr;                ///< [n, hidden] gradient by the rows between blocks
};

}  // namespace rollcall::model
