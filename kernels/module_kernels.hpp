// What rows of the table of architectures need beyond kernel_set.hpp: attention with a scale, a
// cap, a window and sinks, other norms and gates, routers of experts, and merged adapters. It is a
// second table, so that the first one keeps its machine code. The contract of kernel_set.hpp holds
// here too.
#pragma once

#include "kernels/kernel_set.hpp"

#include <cstdint>

namespace rollcall::kernels {

/// What differs between attentions. The row of an architecture fills it.
struct AttentionForm {
  float scale = 0;          ///< of q k; 0 is 1 / sqrt(head_dim)
  float cap = 0;            ///< scores become cap tanh(score / cap), unless it is 0
  std::int64_t window = 0;  ///< the last `window` keys are attended to, unless it is 0
  /// [q_heads] scores of keys without values, one for each query head, or nullptr. (gpt-oss, OpenAI
  /// 2025.)
  const float* sinks = nullptr;

  bool plain() const { return scale == 0 && cap == 0 && window == 0 && !sinks; }
  /// The first position that a row with `keys` keys attends to.
  std::int64_t first_key(std::int64_t keys) const {
    return window == 0 || keys < window ? 0 : keys - window;
  }
};

/// The function of a gate g and of `up` u that an MLP computes.
enum class Gate {
  silu,          ///< silu(g) u, with the bits of KernelSet::swiglu (Shazeer 2020)
  gelu_tanh,     ///< gelu(g) u, with the tanh approximation (Hendrycks and Gimpel 2016)
  silu_clamped,  ///< (u + 1) g sigmoid(kClampedAlpha g), with g and u clamped (gpt-oss)
};
/// silu_clamped: g is at most the limit, and u is between -limit and limit.
inline constexpr float kClampedAlpha = 1.702F, kClampLimit = 7.0F;

/// One implementation of the kernels of modules. No pointer is null, except in the set of
/// device_host_kernels().
struct ModuleKernels {
  const char *name, *numerics;  ///< those of the KernelSet that it belongs to

  /// KernelSet::attention in a form. Splits of 1,024 keys begin at the same positions whatever the
  /// window, so a plain form has the bits of KernelSet::attention.
  void (*attention)(ExecutionContext&, const float* q, const AttentionRow* rows, std::int64_t n,
                    HeadShape shape, AttentionPart part, const AttentionForm& form, float* out);
  /// KernelSet::attention_backward in a form. If the form has sinks, it also writes dsinks
  /// [q_heads], the sums over the queries in ascending order, for the query heads that read the key
  /// heads [begin, end).
  void (*attention_backward)(ExecutionContext&, const float* q, const float* k, const float* v,
                             const float* dout, std::int64_t queries, std::int64_t keys,
                             HeadShape shape, std::int64_t begin, std::int64_t end,
                             const AttentionForm& form, float* dq, float* dk, float* dv,
                             float* dsinks);
  /// KernelSet::rms_norm and its backward pass with 1 + weight in place of the weight (Gemma).
  void (*rms_norm_plus_one)(ExecutionContext&, const float* x, std::int64_t n, std::int64_t d,
                            const float* weight, float eps, float* y);
  void (*rms_norm_plus_one_backward)(ExecutionContext&, const float* x, std::int64_t n,
                                     std::int64_t d, const float* weight, float eps,
                                     const float* dy, float* dx, float* dweight);
  /// KernelSet::rope of the first rotary_dim numbers of each head, with cos and sin [position,
  /// rotary_dim/2]. The others stay as they are.
  void (*rope_partial)(ExecutionContext&, float* x, std::int64_t n, std::int64_t heads,
                       std::int64_t head_dim, std::int64_t rotary_dim, const std::int32_t* position,
                       const float* cos, const float* sin, int direction);
  /// y[n,f] from gate and up [n,f], and the backward pass.
  void (*gated)(ExecutionContext&, const float* gate, const float* up, std::int64_t n,
                std::int64_t f, Gate form, float* y);
  void (*gated_backward)(ExecutionContext&, const float* gate, const float* up, std::int64_t n,
                         std::int64_t f, const float* dy, Gate form, float* dgate, float* dup);
  /// x = cap tanh(x / cap) for n numbers, in place. cap > 0.
  void (*softcap)(ExecutionContext&, float* x, std::int64_t n, float cap);
  /// dz = dz (1 - (z / cap)^2), where z is what softcap has written.
  void (*softcap_backward)(ExecutionContext&, const float* z, float* dz, std::int64_t n, float cap);
};

/// The kernels of modules with the name and numerics of this set. Throws std::invalid_argument if
/// there are none.
const ModuleKernels& module_kernels(const KernelSet& set);

}  // namespace rollcall::kernels
