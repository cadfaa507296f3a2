// Private to the model: the transformer's operations on scratch memory, without a tape.
#pragma once

#include "kernels/execution_context.hpp"
#include "model/packed_rows.hpp"

#include <functional>

namespace rollcall::model {

/// Runs rows of tokens through the blocks and the head. One per thread; scratch memory is allocated once, for `max_rows` rows.
class RowEngine {
 public:
  static constexpr std::int64_t kHeadRows = 256;  ///< logits exist for so many rows at a time

  RowEngine(const Policy::Packed& policy, std::int64_t max_rows);

  /// Output of the last block, before the final norm: [n, hidden], valid until the next call.
  const float* hidden(std::span<const std::int32_t> tokens, std::span<const std::int32_t> positions, KeyValues& memory);

  /// Final norm and head over `rows` (pointers to [hidden]), at most kHeadRows at a time: visit(first, count, logits [count, V], normed [count, hidden]).
  using VisitLogits = std::function<void(std::size_t first, std::size_t count, const float* logits, const float* normed)>;
  void logits(std::span<const float* const> rows, const VisitLogits& visit);

  kernels::ExecutionContext& context() { return context_; }

  // Operations for run_blocks.
  struct Rows {
    float* values;
    std::int64_t width;
  };
  Rows linear(Rows x, const Linear& linear);
  Rows rms_norm(Rows x, const Norm& norm);
  Rows rope(Rows x);  ///< in place
  Rows attention(std::size_t layer, Rows q, Rows k, Rows v);
  Rows swiglu(Rows gate, Rows up);
  Rows add(Rows x, Rows y);  ///< into x; ends all other rows

 private:
  Rows take(std::int64_t width);

  const Policy::Packed& policy_;
  kernels::ExecutionContext context_;
  std::int64_t max_rows_;
  AlignedFloats x_, scratch_, head_scratch_;
  std::size_t used_ = 0;
  // Of the call at hand:
  std::int64_t n_ = 0;
  const std::int32_t* positions_ = nullptr;
  KeyValues* memory_ = nullptr;
};

}  // namespace rollcall::model
