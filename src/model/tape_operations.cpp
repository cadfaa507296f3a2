// Forward and backward of each recorded operation.
#include "model/tape_operations.hpp"

#include "model/row_engine.hpp"

#include <algorithm>

namespace rollcall::model {
namespace {

/// Tape and call structs are plain pointers to autograd; they outlive the backward pass, which runs inside forward_backward.
template <class T>
void keep(AutogradContext* ctx, const char* key, T* object) {
  ctx->saved_data[key] = reinterpret_cast<std::int64_t>(object);
}
template <class T>
T* kept(AutogradContext* ctx, const char* key) {
  return reinterpret_cast<T*>(ctx->saved_data.at(key).toInt());
}

const float* in(const at::Tensor& t) { return t.const_data_ptr<float>(); }
float* out(at::Tensor& t) { return t.mutable_data_ptr<float>(); }

}  // namespace

at::Tensor EmbedRows::forward(AutogradContext* ctx, const at::Tensor& weight, const std::vector<std::int32_t>* tokens) {
  keep(ctx, "tokens", tokens);
  ctx->saved_data["vocab"] = weight.size(0);
  const std::int64_t width = weight.size(1);
  at::Tensor rows = at::empty({std::int64_t(tokens->size()), width}, weight.options());
  float* into = out(rows);
  for (const std::int32_t token : *tokens) into = std::copy_n(in(weight) + token * width, width, into);
  return rows;
}

Tensors EmbedRows::backward(AutogradContext* ctx, const Tensors& grads) {
  const at::Tensor grad = grads[0].contiguous();
  const std::int64_t width = grad.size(1);
  at::Tensor dweight = at::zeros({ctx->saved_data.at("vocab").toInt(), width}, grad.options());
  const float* row = in(grad);
  for (const std::int32_t token : *kept<const std::vector<std::int32_t>>(ctx, "tokens")) {  // in row order: one fixed sum
    float* into = out(dweight) + token * width;
    for (std::int64_t i = 0; i < width; ++i) into[i] += row[i];
    row += width;
  }
  return {dweight, at::Tensor()};
}

at::Tensor LinearRows::forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& weight, const std::optional<at::Tensor>& bias, Tape* tape,
                               const Linear* linear) {
  ctx->save_for_backward({x, weight});
  ctx->saved_data["bias"] = bias.has_value();
  at::Tensor y = at::empty({x.size(0), linear->outputs}, x.options());
  tape->policy.kernels->linear(tape->context, in(x), x.size(0), linear->inputs, linear->panels, linear->outputs, linear->bias, out(y));
  return y;
}

Tensors LinearRows::backward(AutogradContext* ctx, const Tensors& grads) {
  const Tensors saved = ctx->get_saved_variables();
  const at::Tensor &x = saved[0], &weight = saved[1], &dy = grads[0];
  const at::Tensor dbias = ctx->saved_data.at("bias").toBool() ? dy.sum(0) : at::Tensor();
  return {at::mm(dy, weight), at::mm(dy.t(), x), dbias, at::Tensor(), at::Tensor()};
}

at::Tensor NormRows::forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& weight, Tape* tape) {
  ctx->save_for_backward({x, weight});
  keep(ctx, "tape", tape);
  const std::int64_t width = weight.size(0);
  at::Tensor y = at::empty_like(x);
  tape->policy.kernels->rms_norm(tape->context, in(x), x.numel() / width, width, in(weight), tape->policy.eps(), out(y));
  return y;
}

Tensors NormRows::backward(AutogradContext* ctx, const Tensors& grads) {
  const Tensors saved = ctx->get_saved_variables();
  const at::Tensor &x = saved[0], &weight = saved[1], dy = grads[0].contiguous();
  Tape* tape = kept<Tape>(ctx, "tape");
  const std::int64_t width = weight.size(0);
  at::Tensor dx = at::empty_like(x), dweight = at::zeros_like(weight);
  tape->policy.kernels->rms_norm_backward(tape->context, in(x), x.numel() / width, width, in(weight), tape->policy.eps(), in(dy), out(dx), out(dweight));
  return {dx, dweight, at::Tensor()};
}

namespace {

void turn(Tape* tape, at::Tensor& x, int direction) {
  const std::int64_t head_dim = tape->policy.config.head_dim;
  const RotaryTable& table = *tape->policy.rotary;
  tape->policy.kernels->rope(tape->context, out(x), x.size(0), x.size(1) / head_dim, head_dim, tape->sequences.positions().data(), table.cos.data(),
                             table.sin.data(), direction);
}

}  // namespace

at::Tensor RopeRows::forward(AutogradContext* ctx, const at::Tensor& x, Tape* tape) {
  keep(ctx, "tape", tape);
  at::Tensor turned = x;  // neither the projection nor the norm before it keeps its result
  ctx->mark_dirty({turned});
  turn(tape, turned, +1);
  return turned;
}

Tensors RopeRows::backward(AutogradContext* ctx, const Tensors& grads) {
  at::Tensor dx = grads[0].clone(at::MemoryFormat::Contiguous);
  turn(kept<Tape>(ctx, "tape"), dx, -1);
  return {dx, at::Tensor()};
}

at::Tensor AttentionRows::forward(AutogradContext* ctx, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, Tape* tape) {
  ctx->save_for_backward({q, k, v});
  keep(ctx, "tape", tape);
  at::Tensor y = at::empty_like(q);
  const auto visible = tape->sequences.place(0, in(k), in(v));
  tape->policy.kernels->attention(tape->context, in(q), visible.data(), q.size(0), tape->policy.heads(), out(y));
  return y;
}

Tensors AttentionRows::backward(AutogradContext* ctx, const Tensors& grads) {
  const Tensors saved = ctx->get_saved_variables();
  const at::Tensor &q = saved[0], &k = saved[1], &v = saved[2], dy = grads[0].contiguous();
  Tape* tape = kept<Tape>(ctx, "tape");
  at::Tensor dq = at::empty_like(q), dk = at::empty_like(k), dv = at::empty_like(v);
  const auto offsets = tape->sequences.offsets();
  for (std::size_t s = 0; s + 1 < offsets.size(); ++s) {
    const std::int64_t q_at = offsets[s] * q.size(1), kv_at = offsets[s] * k.size(1), length = offsets[s + 1] - offsets[s];
    if (length == 0) continue;
    tape->policy.kernels->attention_backward(tape->context, in(q) + q_at, in(k) + kv_at, in(v) + kv_at, in(dy) + q_at, length, tape->policy.heads(),
                                             out(dq) + q_at, out(dk) + kv_at, out(dv) + kv_at);
  }
  return {dq, dk, dv, at::Tensor()};
}

at::Tensor SwigluRows::forward(AutogradContext* ctx, const at::Tensor& gate, const at::Tensor& up, Tape* tape) {
  ctx->save_for_backward({gate, up});
  keep(ctx, "tape", tape);
  at::Tensor y = at::empty_like(gate);
  tape->policy.kernels->swiglu(tape->context, in(gate), in(up), gate.size(0), gate.size(1), out(y));
  return y;
}

Tensors SwigluRows::backward(AutogradContext* ctx, const Tensors& grads) {
  const Tensors saved = ctx->get_saved_variables();
  const at::Tensor &gate = saved[0], &up = saved[1], dy = grads[0].contiguous();
  Tape* tape = kept<Tape>(ctx, "tape");
  at::Tensor dgate = at::empty_like(gate), dup = at::empty_like(up);
  tape->policy.kernels->swiglu_backward(tape->context, in(gate), in(up), gate.size(0), gate.size(1), in(dy), out(dgate), out(dup));
  return {dgate, dup, at::Tensor()};
}

namespace {

/// Logits [rows, V] of rows [first, first + rows) of x [M, hidden].
void head_logits(Tape* tape, const at::Tensor& x, std::int64_t first, std::int64_t rows, at::Tensor& logits) {
  const Linear& head = tape->policy.head;
  tape->policy.kernels->linear(tape->context, in(x) + first * head.inputs, rows, head.inputs, head.panels, head.outputs, nullptr, out(logits));
}

}  // namespace

Tensors HeadColumns::forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& weight, Tape* tape, const HeadCall* call) {
  const std::int64_t m = x.size(0), vocab = weight.size(0);
  at::Tensor logprob = at::empty({m}, x.options()), entropy = at::empty({m}, x.options()), lse = at::empty({m}, x.options());
  at::Tensor logits = at::empty({std::min(m, RowEngine::kHeadRows), vocab}, x.options());
  for (std::int64_t first = 0; first < m; first += RowEngine::kHeadRows) {
    const std::int64_t rows = std::min(RowEngine::kHeadRows, m - first);
    head_logits(tape, x, first, rows, logits);
    tape->policy.kernels->token_columns(tape->context, in(logits), rows, vocab, call->inverse_temperature, call->targets.data() + first, out(logprob) + first,
                                        out(entropy) + first, out(lse) + first);
  }
  ctx->save_for_backward({x, weight, entropy, lse});
  keep(ctx, "tape", tape);
  keep(ctx, "call", call);
  return {logprob, entropy};
}

Tensors HeadColumns::backward(AutogradContext* ctx, const Tensors& grads) {
  const Tensors saved = ctx->get_saved_variables();
  const at::Tensor &x = saved[0], &weight = saved[1], &entropy = saved[2], &lse = saved[3];
  const at::Tensor dlogprob = grads[0].contiguous(), dentropy = grads[1].contiguous();
  Tape* tape = kept<Tape>(ctx, "tape");
  const HeadCall* call = kept<const HeadCall>(ctx, "call");
  const std::int64_t m = x.size(0), vocab = weight.size(0);
  at::Tensor dx = at::empty_like(x), dweight = at::zeros_like(weight);
  at::Tensor logits = at::empty({std::min(m, RowEngine::kHeadRows), vocab}, x.options());
  for (std::int64_t first = 0; first < m; first += RowEngine::kHeadRows) {
    const std::int64_t rows = std::min(RowEngine::kHeadRows, m - first);
    head_logits(tape, x, first, rows, logits);
    tape->policy.kernels->token_columns_backward(tape->context, in(logits), rows, vocab, call->inverse_temperature, call->targets.data() + first,
                                                 in(lse) + first, in(entropy) + first, in(dlogprob) + first, in(dentropy) + first, out(logits));
    const at::Tensor dlogits = logits.narrow(0, 0, rows);
    at::Tensor dx_rows = dx.narrow(0, first, rows);
    at::mm_out(dx_rows, dlogits, weight);
    dweight.addmm_(dlogits.t(), x.narrow(0, first, rows));
  }
  return {dx, dweight, at::Tensor(), at::Tensor()};
}

}  // namespace rollcall::model
