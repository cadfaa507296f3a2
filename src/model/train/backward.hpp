// Private to the model: the backward pass on the host, block by block from the last to the first.
// It uses the same kernels as the forward pass.
#pragma once

#include "model/engine/backend.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace rollcall::model {

/// Gradients of one micro-batch with respect to the weights. They go to the sink as they are
/// computed. An empty sink means that the caller does not want them. Products of gradients are
/// `linear` on transposed operands, in the numerics of the policy. All else is fp32. Every sum runs
/// over rows in ascending order, no matter which thread computes it, so the bits depend on the
/// micro-batch only.
class Backward {
 public:
  Backward(const PolicyModel::Packed& policy, Backend& backend, PackedSequences& sequences,
           Arena& scratch, const GradientSink& sink);
  /// The size of `scratch` in floats, for these numbers of rows, targets and team members.
  static std::int64_t scratch_floats(const ModelConfig& config, const kernels::KernelSet& kernels,
                                     std::int64_t rows, std::int64_t targets, int members);
  /// The size of `scratch` in floats if only states() is called.
  static std::int64_t state_floats(const ModelConfig& config, const kernels::KernelSet& kernels,
                                   std::int64_t targets);

  /// What the head's backward pass needs from its forward pass.
  struct Predictions {
    std::span<const std::int64_t> rows;     ///< [M] the rows that predict targets
    std::span<const std::int32_t> targets;  ///< [M]
    std::span<const float> lse, entropy;    ///< [M]
    const float* normed;                    ///< [M, hidden]
    const float* logits = nullptr;          ///< [M, V], or null to have them recomputed
    // kept and missed cover the whole micro-batch; the targets above begin at its target
    // first_target.
    const KeptTokens* kept = nullptr;
    std::size_t first_target = 0;
    const MissedTokens* missed = nullptr;
  };
  /// Computes the gradient with respect to `hidden` [n, hidden], the last block's output. It stays
  /// in this object.
  void head(const float* hidden, const Predictions& predictions, double temperature,
            const ColumnGradient& derivative);
  /// Computes only the gradient with respect to the head's inputs `normed`, [M, hidden], valid
  /// until the next call. A row's bits depend on that row only.
  const float* states(const Predictions& predictions, double temperature,
                      const ColumnGradient& derivative);
  /// Backpropagates through a block. Blocks must come from the last to the first.
  void block(std::size_t i, const BlockRows<Backend::Rows>& rows);
  void embedding(std::span<const std::int32_t> tokens);

 private:
  using Rows = Backend::Rows;
  /// A product, and the gradient with respect to its output.
  struct Through {
    const Linear& linear;
    const float* dy;  ///< [n, outputs]
  };
  float* take(std::int64_t rows, std::int64_t width) { return scratch_->take(rows * width); }
  void* take_bytes(std::int64_t bytes) { return scratch_->take((bytes + 3) / 4); }
  /// The gradient with respect to x [n, inputs] of several products of the same x: the sum of their
  /// dy W. Their gradients with respect to W and bias go to the sink.
  float* linears(const float* x, std::span<const Through> all);
  /// Writes the gradient with respect to `normed` into `dnormed`; `part` [M, hidden] is scratch
  /// memory.
  void states(const Predictions& predictions, double temperature, const ColumnGradient& derivative,
              float* dnormed, float* part);
  /// Adds the terms of the other tokens at each target's position to dlogits [rows, v], which
  /// belong to the ids from `first` on. The target's own derivative already contains their mass.
  static void add_missed(const Predictions& predictions, const ColumnGradient& derivative,
                         float scale, std::int64_t row, std::int64_t first, std::int64_t v,
                         float* dlogits);
  const void* packed_inputs(const float* x, std::int64_t rows, std::int64_t width);
  void weights(const Linear& linear, std::int64_t first_output, std::int64_t outputs,
               const float* dy, std::int64_t rows, const void* packed_x);
  void bias(const Linear& linear, const float* dy);
  /// dx [rows, outputs] = dy [rows, linear.outputs] W.
  void inputs(const Linear& linear, const float* dy, std::int64_t rows, float* dx);
  /// Writes the gradient with respect to the norm's input x into dx, or adds it to dx if `added`.
  void norm(const Norm& norm, const float* x, std::int64_t rows, const float* dy, float* dx,
            bool added);
  struct Heads {
    float *q, *k, *v;
  };
  Heads attention(const BlockRows<Rows>& rows, const float* dout);
  /// The backward pass of attention for the sequences [first, last) only.
  void attention(const BlockRows<Rows>& rows, const float* dout, const Heads& d, std::size_t first,
                 std::size_t last);

  const PolicyModel::Packed* policy_;
  Backend* backend_;
  Team* team_;
  PackedSequences* sequences_;
  Arena* scratch_;
  const GradientSink* sink_;
  std::int64_t n_;
  std::vector<float*> turned_, made_;  ///< [member] operand and result of weights()
  float* dx_ = nullptr;                ///< [n, hidden] gradient with respect to the rows between
                                       ///< two blocks
};

}  // namespace rollcall::model
