// Private to the model: the forward operations of a policy on the device: what backend.hpp is for
// the host.
#pragma once

#include "base/error.hpp"
#include "model/device/device_policy.hpp"
#include "model/engine/packed_rows.hpp"
#include "model/engine/transformer.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <vector>

namespace rollcall::model {

/// Runs rows of tokens through the blocks and the head. All memory is the arena's: a pass begins
/// with embed(), and what it took is given back by the next one.
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
  /// What a pass reads of its rows; pointers are the device's.
  struct Input {
    std::int64_t rows = 0, stored = 0;  ///< places: the rows' in order, then second ones of some of
                                        ///< them
    const std::int32_t *tokens = nullptr, *positions = nullptr;  ///< [rows]
    const std::int32_t* source = nullptr;                        ///< [stored] row of each place
    const kernels::AttentionRow* places = nullptr;               ///< [stored]
    const KeyValues* memory = nullptr;  ///< of which layers' offsets are read
  };
  Input upload(std::span<const std::int32_t> tokens, std::span<const std::int32_t> positions,
               const KeyValues& memory);
  /// The same places, with their tables of pages on the device.
  std::vector<kernels::AttentionRow> with_tables(std::vector<kernels::AttentionRow> places);

  enum class Keep { nothing, rows };  ///< whether a residual add drops all rows but its result
  /// Begins a pass.
  Rows embed(const OnDevice& policy, const Input& input, Keep keep);
  /// Output of the last block, before the final norm: [n, hidden].
  Rows hidden(const OnDevice& policy, const Input& input);
  /// What was taken since embed() or hold().
  void release() { arena_.give_back(begin_); }
  void hold() { begin_ = arena_.mark(); }

  /// Final norm and head over `rows` (pointers to [hidden] on the device), at most kHeadRows at a
  /// time, queued: visit(first, count, logits [count, V], normed [count, hidden]).
  using VisitLogits = std::function<void(std::int64_t first, std::int64_t count,
                                         const float* logits, const float* normed)>;
  void logits(const OnDevice& policy, std::span<const float* const> rows, const VisitLogits& visit);
  /// the pointers, too, are on the device
  void logits(const OnDevice& policy, const float* const* rows, std::int64_t all,
              const VisitLogits& visit);
  /// token_columns of logits [count, V]; `blocks` is scratch, or [count, vocabulary_blocks + 1].
  struct Columns {
    float *logprob, *entropy, *lse;
  };
  void columns(const float* logits, std::int64_t count, std::int64_t vocab, float scale,
               const std::int32_t* targets, const Columns& to,
               kernels::BlockMass* blocks = nullptr);

  // Operations for run_block. Rows that products read are rounded by who makes them: one place is
  // enough, as they are read at once.
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
  Rows add_linear(Rows x, Rows y, const Linear& linear);  ///< x + linear(y); without kept rows in
                                                          ///< the place of x
  Rows rms_norm(Rows x, const Norm& norm);
  void rope(Rows x, int direction);  ///< in place
  Rows attention(std::size_t layer, Rows q, Rows k, Rows v);
  Rows swiglu(Rows gate, Rows up);

  kernels::cuda::Rows16 rounded_rows(const float* x, std::int64_t n, std::int64_t width);

 private:
  kernels::cuda::Rows16 rounded_of(Rows x) const;
  /// where x is rounded to from now on
  kernels::Bf16* rounding(Rows x) { return rounded_rows_ = x.values, rounded_; }
  Rows take(std::int64_t width) { return {arena_.take<float>(n_ * width), width}; }

  Device* device_;
  DeviceArena arena_;
  // Of the pass at hand:
  const OnDevice* policy_ = nullptr;
  Keep keep_ = Keep::nothing;
  DeviceArena::Mark begin_{};
  Input input_;
  std::int64_t n_ = 0;  ///< its rows
  kernels::Bf16* rounded_ = nullptr;
  const float* rounded_rows_ = nullptr;  ///< which stand there
};

}  // namespace rollcall::model
