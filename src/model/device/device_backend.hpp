// Private to the model: the forward operations of a policy on the device. backend.hpp has those for
// the host.
#pragma once

#include "base/errors/error.hpp"
#include "model/device/device_policy.hpp"
#include "model/device/device_rows.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <vector>

namespace rollcall::model {

/// Runs rows of tokens through the blocks and the head. All memory comes from the arena. A pass
/// begins with embed(). Its caller gives the memory back before the next pass.
class DeviceBackend {
 public:
  explicit DeviceBackend(Device& device, const char* passes = device_items::kSampling)
      : device_(&device), arena_(passes) {}
  Device& device() { return *device_; }
  kernels::ExecutionContext& context() { return device_->context(); }
  DeviceArena& arena() { return arena_; }

  struct Rows {
    float* values;
    std::int64_t width;
  };
  /// Whether the rows of a block are kept for a backward pass. With `nothing` each residual sum is
  /// computed in place, and all other rows of the block are given back.
  enum class Keep { nothing, rows };
  /// Begins a pass. Returns the embeddings of its tokens: [n, hidden].
  Rows embed(const OnDevice& policy, const PassRows& input, Keep keep);
  /// Output of the last block, before the final norm: [n, hidden].
  Rows hidden(const OnDevice& policy, const PassRows& input);
  /// Gives back the memory that was taken since embed().
  void release() { arena_.give_back(after_embed_); }

  /// Queues the work that reads logits [count, V] and normed [count, hidden].
  using VisitLogits = std::function<void(std::int64_t first, std::int64_t count,
                                         const float* logits, const float* normed)>;
  /// Final norm and head over `rows`, pointers to [hidden] on the device. They are queued for at
  /// most kHeadRows rows at a time, and `visit` is called each time.
  void logits(const OnDevice& policy, std::span<const float* const> rows, const VisitLogits& visit);
  /// Final norm and head over `all` rows, to which an array on the device points.
  void logits(const OnDevice& policy, const float* const* rows, std::int64_t all,
              const VisitLogits& visit);
  struct Columns {
    float *logprob, *entropy, *lse;
  };
  /// Queues token_columns of logits [count, vocab] at the inverse temperature `scale`. `blocks`:
  /// [count, vocabulary_blocks(vocab) + 1], or nullptr if the caller does not need it.
  void columns(const float* logits, std::int64_t count, std::int64_t vocab, float scale,
               const std::int32_t* targets, const Columns& to,
               kernels::BlockMass* blocks = nullptr);

  // Operations for run_block. An operation whose result a product reads also rounds it to bf16. One
  // buffer for rounded rows is enough, because the product comes next.
  template <class... Linears>
  std::array<Rows, sizeof...(Linears)> linear(Rows x, const Linears&... linears) {
    const std::array<Rows, sizeof...(Linears)> y{take(linears.outputs)...};
    expect(((linears.slices == 1) && ...), "products that share their rows are not cut in slices");
    std::size_t i = 0;
    const std::array<kernels::cuda::Factor, sizeof...(Linears)> factors{
        kernels::cuda::Factor{rows_of(linears), linears.bias, y[i++].values}...};
    kernels::cuda::products(context(), rounded_of(x), factors);
    return y;
  }
  /// x + linear(y). With Keep::nothing the sum replaces x.
  Rows add_linear(Rows x, Rows y, const Linear& linear);
  Rows rms_norm(Rows x, const Norm& norm);
  /// In place, by the angles of ModelShape::ropes[table].
  void rope(Rows x, int table, int direction);
  Rows attention(std::size_t layer, Rows q, Rows k, Rows v);
  Rows swiglu(Rows gate, Rows up);

  /// A rounded copy of x [n, width], taken from the arena.
  kernels::cuda::Rows16 rounded_rows(const float* x, std::int64_t n, std::int64_t width);

 private:
  kernels::cuda::Rows16 rounded_of(Rows x) const;
  /// Returns the buffer for rounded rows, which is for the rows of x from now on.
  kernels::Bf16* rounding(Rows x) { return rounded_rows_ = x.values, rounded_; }
  Rows take(std::int64_t width) { return {arena_.take<float>(n_ * width), width}; }

  Device* device_;
  DeviceArena arena_;
  // The state of the current pass.
  const OnDevice* policy_ = nullptr;
  Keep keep_ = Keep::nothing;
  DeviceArena::Mark after_embed_{};
  PassRows input_;
  std::int64_t n_ = 0;                   ///< rows of the pass
  kernels::Bf16* rounded_ = nullptr;     ///< the last rounded rows
  const float* rounded_rows_ = nullptr;  ///< the fp32 rows that rounded_ was made from
};

}  // namespace rollcall::model
