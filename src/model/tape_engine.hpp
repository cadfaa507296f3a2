// Private to the model: the transformer's operations on ATen tensors, each recorded for the backward pass.
#pragma once

#include "kernels/execution_context.hpp"
#include "model/packed_rows.hpp"

#include <ATen/ATen.h>

#include <array>
#include <vector>

namespace rollcall::model {

/// What the recorded operations of one leaf share. It belongs to one thread and outlives the backward pass.
struct Tape {
  const Policy::Packed& policy;
  PackedSequences sequences;
  const GradientSink& sink;
  kernels::ExecutionContext context{};
};

/// What the head needs besides tensors.
struct HeadCall {
  std::vector<std::int32_t> targets;  ///< [M]
  float inverse_temperature = 1.0F;
};

/// One forward and backward of a leaf. Weights are no variables of autograd: each operation's backward hands its weight's gradient to the sink and
/// drops it, so that no gradient of the whole model exists.
class TapeEngine {
 public:
  TapeEngine(const Policy::Packed& policy, const Leaf& leaf, const GradientSink& sink);
  Columns run(const Leaf& leaf, double temperature, const ColumnGradient& derivative);

  // Operations for run_blocks: [n, width].
  using Rows = at::Tensor;
  template <class... Linears>
  std::array<Rows, sizeof...(Linears)> linear(const Rows& x, const Linears&... linears) {
    return {product(x, linears)...};
  }
  Rows rms_norm(const Rows& x, const Norm& norm);
  Rows rope(const Rows& x);
  Rows attention(std::size_t layer, const Rows& q, const Rows& k, const Rows& v);
  Rows swiglu(const Rows& gate, const Rows& up);
  Rows add(const Rows& x, const Rows& y);

 private:
  Rows product(const Rows& x, const Linear& linear);

  Tape tape_;
  HeadCall call_;
};

}  // namespace rollcall::model
