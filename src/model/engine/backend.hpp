// Private to the model: the forward operations of a policy on the host, with their memory and
// threads.
#pragma once

#include "kernels/execution_context.hpp"
#include "model/engine/packed_policy.hpp"
#include "model/engine/packed_rows.hpp"
#include "model/support/arena.hpp"
#include "model/support/team.hpp"

#include <array>
#include <functional>

namespace rollcall::model {

/// Runs rows of tokens through the blocks and the head of policies of one shape. The team shares
/// each operation: products by panels of outputs, attention by heads and rows, the others by rows
/// or elements. Memory is allocated once, for `max_rows` rows.
class Backend {
 public:
  static constexpr std::int64_t kHeadRows = 256;  ///< rows whose logits are computed at a time

  /// `kept`: the number of blocks whose rows are kept until release(). If it is 0, a residual add
  /// gives back all rows except its result. `logits`: whether to allocate memory for logits, which
  /// logits() uses unless its caller provides some.
  Backend(const ModelConfig& config, Team& team, std::int64_t max_rows, std::int64_t kept = 0,
          bool logits = true);
  /// Bytes of the memory that the constructor allocates.
  static std::int64_t scratch_bytes(const ModelConfig& config, std::int64_t max_rows,
                                    std::int64_t kept = 0, bool logits = true);

  // Operations for run_block.
  struct Rows {
    float* values;
    std::int64_t width;
  };

  /// Output of the last block, before the final norm: [n, hidden], valid until the next call.
  const float* hidden(const PolicyModel::Packed& policy, std::span<const std::int32_t> tokens,
                      std::span<const std::int32_t> positions, KeyValues& memory);
  /// Begins a pass in which the caller runs the blocks. Returns the embeddings, which the caller
  /// passes through run_block(*this, ..) for each block in order.
  Rows embed(const PolicyModel::Packed& policy, std::span<const std::int32_t> tokens,
             std::span<const std::int32_t> positions, KeyValues& memory);

  /// Final norm and head over `rows`, which are pointers to [hidden]. Calls visit(first, count,
  /// logits [count, V], normed [count, hidden]) for at most kHeadRows of them at a time. `kept`
  /// [rows, V]: memory in which the logits stay, or nullptr.
  using VisitLogits =
      std::function<void(std::size_t first, std::size_t count, float* logits, const float* normed)>;
  void logits(const PolicyModel::Packed& policy, std::span<const float* const> rows,
              const VisitLogits& visit, float* kept = nullptr);

  Team& team() { return *team_; }
  kernels::ExecutionContext& context(int member = 0) { return contexts_[std::size_t(member)]; }
  std::int64_t max_rows() const { return max_rows_; }

  /// Products of the same x [n, inputs]: y[i] = [n, outputs].
  void products(const float* x, std::int64_t n, std::span<const Linear* const> linears,
                const Rows* y);
  void product(const float* x, std::int64_t n, const Linear& linear, float* y) {
    const std::array<const Linear*, 1> one{&linear};
    const Rows rows{y, linear.outputs};
    products(x, n, one, &rows);
  }

  template <class... Linears>
  std::array<Rows, sizeof...(Linears)> linear(Rows x, const Linears&... linears) {
    const std::array<const Linear*, sizeof...(Linears)> all{&linears...};
    std::array<Rows, sizeof...(Linears)> y;
    for (std::size_t i = 0; i < all.size(); ++i) y[i] = take(all[i]->outputs);
    products(x.values, n_, all, y.data());
    return y;
  }
  Rows rms_norm(Rows x, const Norm& norm);
  /// In place, by the angles of ModelShape::ropes[table].
  void rope(Rows x, int table, int direction);
  Rows attention(std::size_t layer, Rows q, Rows k, Rows v);
  Rows swiglu(Rows gate, Rows up);
  Rows add_linear(Rows x, Rows y, const Linear& linear) {
    return add(x, this->linear(y, linear)[0]);
  }

  void release() { scratch_.give_back(0); }  ///< gives all kept rows back

 private:
  Rows take(std::int64_t width) { return {scratch_.take(n_ * width), width}; }
  Rows add(Rows x, Rows y);  ///< x + y, written over x, or over y if rows are kept
  void normalise(const float* x, std::int64_t n, const Norm& norm, float* y);

  Team* team_;
  std::vector<kernels::ExecutionContext> contexts_;  ///< [member]
  std::int64_t max_rows_;
  bool keeps_, makes_room_;
  AlignedFloats x_, head_scratch_;
  Arena scratch_;
  // The state of the current pass.
  const PolicyModel::Packed* policy_ = nullptr;
  std::int64_t n_ = 0;
  const std::int32_t* positions_ = nullptr;
  KeyValues* memory_ = nullptr;
};

}  // namespace rollcall::model
