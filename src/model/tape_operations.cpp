// Forward and backward of each recorded operation.
#include "model/tape_operations.hpp"

#include "model/backend.hpp"

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

/// from_blob has no const form; nothing writes to a weight.
at::Tensor weight_of(const Linear& linear) { return at::from_blob(const_cast<float*>(linear.weight), {linear.outputs, linear.inputs}, at::kFloat); }

void give(const Tape& tape, std::int64_t slice, const at::Tensor& gradient) {
  const at::Tensor dense = gradient.contiguous();
  tape.sink(std::size_t(slice), 0, {in(dense), std::size_t(dense.numel())});
}

void product(Tape* tape, const float* x, std::int64_t rows, const Linear& linear, float* y) {
  const kernels::Product whole{linear.panels, linear.outputs, linear.bias, y};
  tape->policy.kernels->linear(tape->context, x, rows, linear.inputs, &whole, 1, linear.slices, 0, kernels::panels_of(linear.outputs));
}

}  // namespace

at::Tensor LinearRows::forward(AutogradContext* ctx, const at::Tensor& x, Tape* tape, const Linear* linear) {
  ctx->save_for_backward({x});
  keep(ctx, "tape", tape), keep(ctx, "linear", linear);
  at::Tensor y = at::empty({x.size(0), linear->outputs}, x.options());
  product(tape, in(x), x.size(0), *linear, out(y));
  return y;
}

Tensors LinearRows::backward(AutogradContext* ctx, const Tensors& grads) {
  const Tensors saved = ctx->get_saved_variables();
  const at::Tensor &x = saved[0], &dy = grads[0];
  const Tape* tape = kept<Tape>(ctx, "tape");
  const Linear* linear = kept<const Linear>(ctx, "linear");
  give(*tape, linear->weight_slice, at::mm(dy.t(), x));
  if (linear->bias != nullptr) give(*tape, linear->bias_slice, dy.sum(0));
  return {at::mm(dy, weight_of(*linear)), at::Tensor(), at::Tensor()};
}

at::Tensor NormRows::forward(AutogradContext* ctx, const at::Tensor& x, Tape* tape, const Norm* norm) {
  ctx->save_for_backward({x});
  keep(ctx, "tape", tape), keep(ctx, "norm", norm);
  at::Tensor y = at::empty_like(x);
  tape->policy.kernels->rms_norm(tape->context, in(x), x.numel() / norm->width, norm->width, norm->weight, tape->policy.eps(), out(y));
  return y;
}

Tensors NormRows::backward(AutogradContext* ctx, const Tensors& grads) {
  const Tensors saved = ctx->get_saved_variables();
  const at::Tensor &x = saved[0], dy = grads[0].contiguous();
  Tape* tape = kept<Tape>(ctx, "tape");
  const Norm* norm = kept<const Norm>(ctx, "norm");
  at::Tensor dx = at::empty_like(x), dweight = at::zeros({norm->width}, x.options());
  tape->policy.kernels->rms_norm_backward(tape->context, in(x), x.numel() / norm->width, norm->width, norm->weight, tape->policy.eps(), in(dy), out(dx),
                                          out(dweight));
  give(*tape, norm->slice, dweight);
  return {dx, at::Tensor(), at::Tensor()};
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
  for (std::int64_t unit = 0; unit < tape->sequences.units(); ++unit) tape->sequences.store(0, unit, in(k), in(v));
  const kernels::HeadShape heads = tape->policy.heads();
  tape->policy.kernels->attention(tape->context, in(q), tape->sequences.rows().data(), q.size(0), heads, {0, 0, heads.kv_heads}, out(y));
  return y;
}

namespace {

/// Adds rows of a whole sequence [parent's, own] back to where they came from; returns the end of `from`.
const float* scatter(const PackedSequences::Stretch& s, const float* from, std::int64_t width, at::Tensor& into) {
  for (const auto& [begin, rows] : {std::pair(s.parent_begin, s.parent_rows), std::pair(s.begin, s.rows)}) {
    float* to = out(into) + begin * width;
    for (std::int64_t i = 0; i < rows * width; ++i) to[i] += *from++;
  }
  return from;
}

}  // namespace

Tensors AttentionRows::backward(AutogradContext* ctx, const Tensors& grads) {
  const Tensors saved = ctx->get_saved_variables();
  const at::Tensor &q = saved[0], &k = saved[1], &v = saved[2], dy = grads[0].contiguous();
  Tape* tape = kept<Tape>(ctx, "tape");
  at::Tensor dq = at::zeros_like(q), dk = at::zeros_like(k), dv = at::zeros_like(v);
  const std::int64_t wide = q.size(1), narrow = k.size(1);
  std::vector<float> rows;  // of one sequence: q, k, v, dout, dq, dk, dv
  for (std::size_t s = 0; s < tape->sequences.sequences(); ++s) {
    auto own = tape->sequences.stretch(s);
    const std::int64_t length = own.length();
    if (own.rows == 0) continue;
    rows.assign(std::size_t(length * (3 * wide + 4 * narrow)), 0.0F);
    float *qs = rows.data(), *ks = tape->sequences.gather(own, in(q), wide, qs), *vs = tape->sequences.gather(own, in(k), narrow, ks),
          *dys = tape->sequences.gather(own, in(v), narrow, vs), *dqs = dys + length * wide, *dks = dqs + length * wide, *dvs = dks + length * narrow;
    std::copy_n(in(dy) + own.begin * wide, own.rows * wide, dys + own.parent_rows * wide);  // the parent's own outputs have their turn with it
    tape->policy.kernels->attention_backward(tape->context, qs, ks, vs, dys, length, tape->policy.heads(), dqs, dks, dvs);
    scatter(own, dqs, wide, dq), scatter(own, dks, narrow, dk), scatter(own, dvs, narrow, dv);
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
  product(tape, in(x) + first * head.inputs, rows, head, out(logits));
}

}  // namespace

Tensors HeadColumns::forward(AutogradContext* ctx, const at::Tensor& x, Tape* tape, const HeadCall* call) {
  const std::int64_t m = x.size(0), vocab = tape->policy.head.outputs;
  at::Tensor logprob = at::empty({m}, x.options()), entropy = at::empty({m}, x.options()), lse = at::empty({m}, x.options());
  at::Tensor logits = at::empty({std::min(m, Backend::kHeadRows), vocab}, x.options());
  for (std::int64_t first = 0; first < m; first += Backend::kHeadRows) {
    const std::int64_t rows = std::min(Backend::kHeadRows, m - first);
    head_logits(tape, x, first, rows, logits);
    tape->policy.kernels->token_columns(tape->context, in(logits), rows, vocab, call->inverse_temperature, call->targets.data() + first, out(logprob) + first,
                                        out(entropy) + first, out(lse) + first, nullptr, nullptr);
  }
  ctx->save_for_backward({x, entropy, lse});
  keep(ctx, "tape", tape);
  keep(ctx, "call", call);
  return {logprob, entropy};
}

Tensors HeadColumns::backward(AutogradContext* ctx, const Tensors& grads) {
  const Tensors saved = ctx->get_saved_variables();
  const at::Tensor &x = saved[0], &entropy = saved[1], &lse = saved[2];
  const at::Tensor dlogprob = grads[0].contiguous(), dentropy = grads[1].contiguous();
  Tape* tape = kept<Tape>(ctx, "tape");
  const HeadCall* call = kept<const HeadCall>(ctx, "call");
  const at::Tensor weight = weight_of(tape->policy.head);
  const std::int64_t m = x.size(0), vocab = weight.size(0);
  at::Tensor dx = at::empty_like(x), dweight = at::zeros_like(weight);
  at::Tensor logits = at::empty({std::min(m, Backend::kHeadRows), vocab}, x.options());
  for (std::int64_t first = 0; first < m; first += Backend::kHeadRows) {
    const std::int64_t rows = std::min(Backend::kHeadRows, m - first);
    head_logits(tape, x, first, rows, logits);
    tape->policy.kernels->token_columns_backward(tape->context, in(logits), rows, vocab, call->inverse_temperature, call->targets.data() + first,
                                                 in(lse) + first, in(entropy) + first, in(dlogprob) + first, in(dentropy) + first, out(logits));
    const at::Tensor dlogits = logits.narrow(0, 0, rows);
    at::Tensor dx_rows = dx.narrow(0, first, rows);
    at::mm_out(dx_rows, dlogits, weight);
    dweight.addmm_(dlogits.t(), x.narrow(0, first, rows));
  }
  give(*tape, tape->policy.head.weight_slice, dweight);
  return {dx, at::Tensor(), at::Tensor()};
}

}  // namespace rollcall::model
