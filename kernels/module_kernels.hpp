// What rows of the table of architectures need beyond kernel_set.hpp: attention with a scale, a
// cap, a window and sinks, other norms and gates, routers of experts, and merged adapters. It is a
// second table, so that the first one keeps its machine code. The contract of kernel_set.hpp holds
// here too.
#pragma once

#include "kernels/kernel_set.hpp"

#include <cstdint>

namespace rollcall::kernels {

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
