// gate function * up: the hidden layer of an MLP in the forms of module_kernels.hpp, and its
// backward pass.
#pragma once

#include "kernels/module_kernels.hpp"
#include "kernels/swiglu.simd.hpp"

namespace rollcall::kernels::ROLLCALL_ISA {

/// x with |x| <= limit. A NaN stays a NaN.
static inline Vec within(Vec x, float limit) {
  const Vec most = splat(limit), least = splat(-limit);
  const Vec below = select_less(most, x, most, x);
  return select_less(below, least, least, below);
}

// gelu(x) = x sigmoid(2 u) with u = sqrt(2 / pi) (x + 0.044715 x^3), because 1 + tanh(u) = 2
// sigmoid(2 u). 2 u = x (kLinear + kCubic x^2).
inline constexpr float kLinear = 1.59576912F, kCubic = 0.0713548163F;
/// Beyond it the sigmoid is 0 or 1 in fp32, and the polynomial could overflow.
inline constexpr float kSaturated = 32.0F;

struct Gelu {
  static Vec forward(Vec x, Vec up) {
    const Vec c = within(x, kSaturated);
    return x * sigmoid(c * fma(c * c, splat(kCubic), splat(kLinear))).value * up;
  }
  static void backward(Vec x, Vec up, Vec dy, Vec& dgate, Vec& dup) {
    const Vec c = within(x, kSaturated), square = c * c;
    const Sigmoid s = sigmoid(c * fma(square, splat(kCubic), splat(kLinear)));
    const Vec slope = c * fma(square, splat(3.0F * kCubic), splat(kLinear));
    dgate = dy * up * s.value * fma(slope, s.complement, splat(1.0F));
    dup = dy * x * s.value;
  }
};

/// With g = min(gate, limit) and u = up within the limit: (u + 1) g sigmoid(alpha g).
struct ClampedSilu {
  static Vec forward(Vec gate, Vec up) {
    const Vec g = clamped_gate(gate);
    return (within(up, kClampLimit) + splat(1.0F)) * (g * sigmoid(splat(kClampedAlpha) * g).value);
  }
  /// What is beyond a limit has no gradient.
  static void backward(Vec gate, Vec up, Vec dy, Vec& dgate, Vec& dup) {
    const Vec zero = splat(0.0F), limit = splat(kClampLimit), alpha = splat(kClampedAlpha);
    const Vec g = clamped_gate(gate), u = within(up, kClampLimit) + splat(1.0F);
    const Sigmoid s = sigmoid(alpha * g);
    dgate = dy * u * s.value * fma(alpha * g, s.complement, splat(1.0F));
    dgate = select_less(limit, gate, zero, dgate);
    dup = select_less(limit, max(zero - up, up), zero, dy * g * s.value);
  }

 private:
  static Vec clamped_gate(Vec gate) {
    return select_less(splat(kClampLimit), gate, splat(kClampLimit), gate);
  }
};

template <class Form>
static void gated_in_form(const float* gate, const float* up, std::int64_t count, float* y) {
  for (std::int64_t i = 0; i < count; i += kLanes)
    store_up_to(y + i, count - i,
                Form::forward(load_up_to(gate + i, count - i), load_up_to(up + i, count - i)));
}

template <class Form>
static void gated_backward_in_form(const float* gate, const float* up, std::int64_t count,
                                   const float* dy, float* dgate, float* dup) {
  for (std::int64_t i = 0; i < count; i += kLanes) {
    const std::int64_t left = count - i;
    Vec to_gate, to_up;
    Form::backward(load_up_to(gate + i, left), load_up_to(up + i, left), load_up_to(dy + i, left),
                   to_gate, to_up);
    store_up_to(dgate + i, left, to_gate);
    store_up_to(dup + i, left, to_up);
  }
}

static void gated(ExecutionContext& context, const float* gate, const float* up, std::int64_t n,
                  std::int64_t f, Gate form, float* y) {
  switch (form) {
    case Gate::silu: return swiglu(context, gate, up, n, f, y);
    case Gate::gelu_tanh: return gated_in_form<Gelu>(gate, up, n * f, y);
    case Gate::silu_clamped: return gated_in_form<ClampedSilu>(gate, up, n * f, y);
  }
}

static void gated_backward(ExecutionContext& context, const float* gate, const float* up,
                           std::int64_t n, std::int64_t f, const float* dy, Gate form, float* dgate,
                           float* dup) {
  switch (form) {
    case Gate::silu: return swiglu_backward(context, gate, up, n, f, dy, dgate, dup);
    case Gate::gelu_tanh: return gated_backward_in_form<Gelu>(gate, up, n * f, dy, dgate, dup);
    case Gate::silu_clamped:
      return gated_backward_in_form<ClampedSilu>(gate, up, n * f, dy, dgate, dup);
  }
}

}  // namespace rollcall::kernels::ROLLCALL_ISA
