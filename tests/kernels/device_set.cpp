// The device behind the host's table, so that the properties of the host's kernels are asked of it
// too.
#include "on_device.hpp"

namespace rollcall::kernels {
namespace {

void rms_norm(ExecutionContext& context, const float* x, std::int64_t n, std::int64_t d,
              const float* weight, float eps, float* y) {
  const OnDevice<float> on_x(x, n * d), on_weight(weight, d), out(n * d);
  cuda::rms_norm(context, on_x, n, d, on_weight, eps, out);
  out.read(y);
}

void rms_norm_backward(ExecutionContext& context, const float* x, std::int64_t n, std::int64_t d,
                       const float* weight, float eps, const float* dy, float* dx, float* dweight) {
  const OnDevice<float> on_x(x, n * d), on_weight(weight, d), on_dy(dy, n * d), on_dx(n * d),
      on_dweight(dweight, d);
  cuda::rms_norm_backward(context, on_x, n, d, on_weight, eps, on_dy, on_dx, on_dweight);
  on_dx.read(dx), on_dweight.read(dweight);
}

void rope(ExecutionContext& context, float* x, std::int64_t n, std::int64_t heads,
          std::int64_t head_dim, const std::int32_t* position, const float* cos, const float* sin,
          int direction) {
  const std::int64_t positions = n == 0 ? 0 : *std::max_element(position, position + n) + 1;
  const OnDevice<float> on_x(x, n * heads * head_dim), on_cos(cos, positions * (head_dim / 2)),
      on_sin(sin, positions * (head_dim / 2));
  const OnDevice<std::int32_t> on_position(position, n);
  cuda::rope(context, on_x, n, heads, head_dim, on_position, on_cos, on_sin, direction);
  on_x.read(x);
}

void swiglu(ExecutionContext& context, const float* gate, const float* up, std::int64_t n,
            std::int64_t f, float* y) {
  const OnDevice<float> on_gate(gate, n * f), on_up(up, n * f), out(n * f);
  cuda::swiglu(context, on_gate, on_up, n, f, out);
  out.read(y);
}

void swiglu_backward(ExecutionContext& context, const float* gate, const float* up, std::int64_t n,
                     std::int64_t f, const float* dy, float* dgate, float* dup) {
  const OnDevice<float> on_gate(gate, n * f), on_up(up, n * f), on_dy(dy, n * f), on_dgate(n * f),
      on_dup(n * f);
  cuda::swiglu_backward(context, on_gate, on_up, n, f, on_dy, on_dgate, on_dup);
  on_dgate.read(dgate), on_dup.read(dup);
}

void token_columns(ExecutionContext& context, const float* logits, std::int64_t n, std::int64_t v,
                   float inverse_temperature, const std::int32_t* target, float* logprob,
                   float* entropy, float* lse, BlockMass* blocks, float* e) {
  if (e != nullptr) throw std::logic_error("exponentials stay on the device");
  const OnDevice<float> on_logits(logits, n * v), on_logprob(n), on_entropy(n), on_lse(n);
  const OnDevice<std::int32_t> on_target(target, n);
  const OnDevice<BlockMass> on_blocks(n * (vocabulary_blocks(v) + 1));
  cuda::token_columns(context, on_logits, n, v, inverse_temperature, on_target, on_logprob,
                      on_entropy, on_lse, on_blocks);
  on_logprob.read(logprob), on_entropy.read(entropy), on_lse.read(lse);
  if (blocks != nullptr) on_blocks.read(blocks);
}

void token_columns_backward(ExecutionContext& context, const float* logits, std::int64_t n,
                            std::int64_t v, float inverse_temperature, const std::int32_t* target,
                            const float* lse, const float* entropy, const float* dlogprob,
                            const float* dentropy, float* dlogits) {
  const OnDevice<float> on_logits(logits, n * v), on_lse(lse, n), on_entropy(entropy, n),
      on_dlogprob(dlogprob, n), on_dentropy(dentropy, n), own(n * v);
  const OnDevice<std::int32_t> on_target(target, n);
  const bool in_place = logits == dlogits;
  cuda::token_columns_backward(context, on_logits, n, v, inverse_temperature, on_target, on_lse,
                               on_entropy, on_dlogprob, on_dentropy, in_place ? on_logits : own);
  (in_place ? on_logits : own).read(dlogits);
}

void wide_columns(ExecutionContext& context, const float* logits, const float* other,
                  std::int64_t n, std::int64_t v, float inverse_temperature, const float* lse,
                  const float* other_lse, float* squares, float* kl) {
  const std::int64_t others = other == nullptr ? 0 : n;
  const OnDevice<float> on_logits(logits, n * v), on_other(other, others * v), on_lse(lse, n),
      on_other_lse(other_lse, others), on_squares(n), on_kl(n);
  cuda::wide_columns(context, on_logits,
                     other == nullptr ? nullptr : static_cast<const float*>(on_other), n, v,
                     inverse_temperature, on_lse, on_other_lse, on_squares, on_kl);
  on_squares.read(squares);
  if (other != nullptr) on_kl.read(kl);
}

float accumulate_fixed_point(const float* values, std::int64_t count, double scale,
                             std::int64_t* sum) {
  ExecutionContext context;
  const OnDevice<float> on_values(values, count), largest(Floats{0.0F});
  const OnDevice<std::int64_t> on_sum(sum, count);
  cuda::accumulate_fixed_point(context, on_values, count, std::ilogb(scale), on_sum, largest);
  on_sum.read(sum);
  return largest.values()[0];
}

void from_fixed_point(const std::int64_t* sum, std::int64_t count, double scale, float* values) {
  ExecutionContext context;
  const OnDevice<std::int64_t> on_sum(sum, count);
  const OnDevice<float> on_values(count);
  cuda::from_fixed_point(context, on_sum, count, -std::ilogb(scale), on_values);
  on_values.read(values);
}

/// Of up to kNormBlock values: one block.
double sum_of_squares(const float* values, std::int64_t count) {
  if (count == 0) return 0.0;
  if (count > std::int64_t(kNormBlock)) throw std::logic_error("more than a block of squares");
  ExecutionContext context;
  const OnDevice<float> on_values(values, count);
  const OnDevice<double> squares(1);
  cuda::sums_of_squares(context, on_values, count, squares);
  return squares.values()[0];
}

}  // namespace

const KernelSet& device_set() {
  static const KernelSet set = [] {
    KernelSet made{};
    made.name = "device", made.numerics = kCudaBf16Sliced8;
    made.rms_norm = rms_norm, made.rms_norm_backward = rms_norm_backward, made.rope = rope;
    made.swiglu = swiglu, made.swiglu_backward = swiglu_backward;
    made.token_columns = token_columns, made.token_columns_backward = token_columns_backward,
    made.wide_columns = wide_columns;
    made.accumulate_fixed_point = accumulate_fixed_point, made.from_fixed_point = from_fixed_point,
    made.sum_of_squares = sum_of_squares;
    return made;
  }();
  return set;
}

}  // namespace rollcall::kernels
