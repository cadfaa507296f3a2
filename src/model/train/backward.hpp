// Private to the model: the operations of a backward pass on the host. It uses the same kernels as
// the forward pass.
#pragma once

#include "model/block/engine.hpp"
#include "model/train/head_gradients.hpp"

#include <cstdint>
#include <span>

namespace rollcall::model {

/// The engine of a backward pass on the host: head_backward(), block_backward() for each block from
/// the last to the first, then embedding(). Gradients of one micro-batch with respect to the
/// weights go to the sink as they are computed; an empty sink means that they are not wanted.
/// Products of gradients are those of GradientProducts. All else is fp32. Every sum runs over rows
/// in ascending order, whichever thread computes it, so the bits depend on the micro-batch only.
class Backward {
 public:
  using Rows = Backend::Rows;
  using Predictions = HeadGradients::Predictions;

  Backward(const PolicyModel::Packed& policy, Backend& backend, PackedSequences& sequences,
           Arena& scratch, const GradientSink& sink);
  /// The size of `scratch` in floats, for these numbers of rows, targets and team members.
  static std::int64_t scratch_floats(const ModelConfig& config, const kernels::KernelSet& kernels,
                                     std::int64_t rows, std::int64_t targets, int members);

  // Operations for head_backward.
  void begin(std::int64_t targets);
  HeadGradients head(const Predictions& predictions);
  Rows gather(const float* hidden, std::span<const std::int64_t> rows);
  void scatter(Rows d, std::span<const std::int64_t> rows);

  // Operations for block_backward.
  std::int64_t rows() const { return n_; }
  Rows dx() const { return dx_; }
  Arena::Scope scope() { return Arena::Scope(*scratch_); }
  /// Gradients go to the sink at once, so parts need nothing.
  template <class Work>
  void part(std::size_t, const Work& work) {
    work();
  }
  Rows linears(Rows x, std::span<const Through<Rows>> all);
  Rows norm(const Norm& norm, std::int64_t rows, Rows x, Rows dy);  ///< in place of dy
  void norm_into_dx(const Norm& norm, Rows x, Rows dy);
  Heads<Rows> attention(const Heads<Rows>& rows, Rows dout);
  void rope(Rows x, int table, int direction) { backend_->rope(x, table, direction); }
  GatedRows<Rows> swiglu(Rows gate, Rows up, Rows dy);

  void embedding(std::span<const std::int32_t> tokens);

 private:
  /// Writes the gradient with respect to the norm's input x into dx, or with `added` adds it to dx.
  void norm_backward(const Norm& norm, const float* x, std::int64_t rows, const float* dy,
                     float* dx, bool added);
  /// The backward pass of attention for the sequences [first, last) only.
  void attention(const Heads<Rows>& rows, Rows dout, const Heads<Rows>& d, std::size_t first,
                 std::size_t last);
  Rows take(std::int64_t width) { return {scratch_->take(n_ * width), width}; }

  GradientProducts products_;
  const PolicyModel::Packed* policy_;
  Backend* backend_;
  Team* team_;
  PackedSequences* sequences_;
  Arena* scratch_;
  const GradientSink* sink_;
  std::int64_t n_;
  Rows dx_{};
};

}  // namespace rollcall::model
