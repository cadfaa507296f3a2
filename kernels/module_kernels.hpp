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

/// How a router chooses experts for a token, and weighs them.
struct RouteForm {
  std::int64_t experts = 0, per_token = 0;
  /// The weights of the chosen experts are their part of the softmax over all experts, or, if
  /// `normalised`, that part divided by its sum. Otherwise they are a softmax over the logits of
  /// the chosen ones. That is the same number as a normalised part.
  bool softmax_first = true, normalised = true;

  bool sums_to_one() const { return normalised || !softmax_first; }
};

/// What a router adds to the loss for a row: times (aux experts sum_e share[e] p[e] + z lse^2),
/// where p is the softmax over all experts and lse the log-sum-exp of the logits. (Fedus et al.
/// 2022, equation 4; Zoph et al. 2022, equation 5.)
struct RouteLoss {
  float aux = 0, z = 0;
  const float* share = nullptr;  ///< [experts], not read if aux is 0
  const float* times = nullptr;  ///< [n], not read if both coefficients are 0
};

/// The first entry of a record of a row that chooses its experts itself.
inline constexpr std::uint16_t kNoRecord = 0xFFFF;

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

  /// logits[n,experts] = x[n,hidden] w[experts,hidden]^T + bias (if it is not nullptr), in fp32 in
  /// all numerics, because rounding could change experts. Then for each row the per_token experts
  /// with the largest logits, the lower id of equal ones: ids and weights [n,per_token], by
  /// ascending id. A row whose record [n,per_token] does not begin with kNoRecord takes its experts
  /// from there, in ascending order. `record` may be nullptr. per_token <= experts <= 65,535.
  void (*route)(ExecutionContext&, const float* x, std::int64_t n, std::int64_t hidden,
                const float* w, const float* bias, const RouteForm& form,
                const std::uint16_t* record, float* logits, std::int32_t* ids, float* weights);
  /// dlogits[n,experts] from dweights [n,per_token] and the router's own loss.
  void (*route_backward)(ExecutionContext&, const float* logits, std::int64_t n,
                         const RouteForm& form, const std::int32_t* ids, const float* weights,
                         const float* dweights, const RouteLoss& loss, float* dlogits);
  /// dx[n,hidden] = dlogits[n,experts] w, experts ascending.
  void (*route_inputs_backward)(ExecutionContext&, const float* dlogits, std::int64_t n,
                                std::int64_t experts, const float* w, std::int64_t hidden,
                                float* dx);
  /// Adds dlogits^T x to dw[experts,hidden] and the sums of dlogits to dbias[experts] (if it is not
  /// nullptr), for the experts [begin, end) and over rows in ascending order.
  void (*route_weights_backward)(ExecutionContext&, const float* dlogits, const float* x,
                                 std::int64_t n, std::int64_t experts, std::int64_t hidden,
                                 std::int64_t begin, std::int64_t end, float* dw, float* dbias);

  /// Packs W^T[k,o] from the packed W[o,k]: writes its panels [begin, end), each to its place. They
  /// have the bits that KernelSet::pack_transposed makes of W.
  void (*turn_panels)(const void* panels, std::int64_t o, std::int64_t k, std::int64_t begin,
                      std::int64_t end, void* packed);
  /// out[rows,k] = w + scale b[rows,rank] a[rank,k] in fp32, one chain of FMAs for each number with
  /// ascending ranks. A rank whose scaled b is 0 is left out, so that a new adapter changes no bit.
  /// out may be w.
  void (*merge_rows)(const float* w, std::int64_t rows, std::int64_t k, const float* b,
                     const float* a, std::int64_t rank, float scale, float* out);
  /// merge_rows for weights in bf16.
  void (*merge_halves)(const std::uint16_t* w, std::int64_t rows, std::int64_t k, const float* b,
                       const float* a, std::int64_t rank, float scale, float* out);
};

/// The kernels of modules with the name and numerics of this set. Throws std::invalid_argument if
/// there are none.
const ModuleKernels& module_kernels(const KernelSet& set);

}  // namespace rollcall::kernels
