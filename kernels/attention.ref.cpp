// Reference for softmax attention with grouped query heads in any form, and for its backward pass
// over one causal sequence.
#include "kernels/modules/reference.hpp"
#include "kernels/packing.hpp"
#include "kernels/reference.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace rollcall::kernels::reference {

namespace {

double dot(const float* a, const float* b, std::int64_t d) {
  double sum = 0.0;
  for (std::int64_t c = 0; c < d; ++c) sum += static_cast<double>(a[c]) * b[c];
  return sum;
}

/// What a query head attends to.
struct Softmax {
  std::vector<double> p;       ///< [keys], 0 before the window
  std::vector<double> slopes;  ///< [keys] of the capped scores
  double sink = 0.0;           ///< the probability of the sink
};

double scaled(double score, std::int64_t d, const AttentionForm& form) {
  return form.scale == 0 ? score / std::sqrt(static_cast<double>(d)) : score * form.scale;
}

/// k points to key row 0 of the head.
Softmax softmax_of(const float* q, const float* k, std::int64_t keys, std::int64_t stride,
                   std::int64_t d, const AttentionForm& form, std::int64_t head) {
  Softmax result{std::vector<double>(static_cast<std::size_t>(keys)),
                 std::vector<double>(static_cast<std::size_t>(keys), 1.0)};
  std::vector<double>& p = result.p;
  const std::int64_t first = form.first_key(keys);
  for (std::int64_t j = first; j < keys; ++j) {
    p[j] = scaled(dot(q, k + j * stride, d), d, form);
    if (form.cap == 0) continue;
    const double t = std::tanh(p[j] / form.cap);
    p[j] = form.cap * t;
    result.slopes[j] = 1.0 - t * t;
  }
  double largest = *std::max_element(p.begin() + first, p.end());
  if (form.sinks) largest = std::max<double>(largest, form.sinks[head]);
  if (form.sinks) result.sink = std::exp(form.sinks[head] - largest);
  double sum = result.sink;
  for (std::int64_t j = first; j < keys; ++j) sum += p[j] = std::exp(p[j] - largest);
  for (std::int64_t j = first; j < keys; ++j) p[j] /= sum;
  result.sink /= sum;
  return result;
}

}  // namespace

void attention_in_form(ExecutionContext&, const float* q, const AttentionRow* rows, std::int64_t n,
                       HeadShape shape, AttentionPart part, const AttentionForm& form, float* out) {
  const std::int64_t d = shape.head_dim, group = shape.q_heads / shape.kv_heads;
  std::vector<float> k, v;  // keys and values of a row and head, read from the pages
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t h = part.first * group; h < part.last * group; ++h) {
      const std::int64_t keys = rows[i].keys, at = (i * shape.q_heads + h) * d;
      k.resize(static_cast<std::size_t>(keys * d)), v.resize(k.size());
      for (std::int64_t j = 0; j < keys; ++j)
        load_position_fp32(static_cast<const char*>(rows[i].pages[j / kPageKeys]) + part.offset,
                           shape, h / group, j % kPageKeys, &k[j * d], &v[j * d]);
      const std::vector<double> p = softmax_of(q + at, k.data(), keys, d, d, form, h).p;
      for (std::int64_t c = 0; c < d; ++c) {
        double sum = 0.0;
        for (std::int64_t j = 0; j < keys; ++j) sum += p[j] * v[j * d + c];
        out[at + c] = static_cast<float>(sum);
      }
    }
}

void attention(ExecutionContext& context, const float* q, const AttentionRow* rows, std::int64_t n,
               HeadShape shape, AttentionPart part, float* out) {
  attention_in_form(context, q, rows, n, shape, part, {}, out);
}

void attention_backward_in_form(ExecutionContext&, const float* q, const float* k, const float* v,
                                const float* dout, std::int64_t queries, std::int64_t keys,
                                HeadShape shape, std::int64_t begin, std::int64_t end,
                                const AttentionForm& form, float* dq, float* dk, float* dv,
                                float* dsinks) {
  const std::int64_t d = shape.head_dim, group = shape.q_heads / shape.kv_heads,
                     stride = shape.kv_heads * d, before = keys - queries;
  std::vector<double> k_sum(static_cast<std::size_t>(keys * stride)), v_sum(k_sum.size()),
      sink_sum(static_cast<std::size_t>(shape.q_heads));
  for (std::int64_t i = 0; i < queries; ++i)
    for (std::int64_t h = begin * group; h < end * group; ++h) {
      const std::int64_t at = (i * shape.q_heads + h) * d, from = h / group * d,
                         seen = before + i + 1;
      const Softmax s = softmax_of(q + at, k + from, seen, stride, d, form, h);
      std::vector<double> ds(s.p.size()), q_sum(static_cast<std::size_t>(d));
      double mean = 0.0;
      for (std::int64_t j = 0; j < seen; ++j)
        mean += s.p[j] * (ds[j] = dot(dout + at, v + j * stride + from, d));
      sink_sum[h] -= s.sink * mean;
      for (std::int64_t j = 0; j < seen; ++j) {
        ds[j] = scaled(s.p[j] * (ds[j] - mean) * s.slopes[j], d, form);
        for (std::int64_t c = 0; c < d; ++c) {
          q_sum[c] += ds[j] * k[j * stride + from + c];
          k_sum[j * stride + from + c] += ds[j] * q[at + c];
          v_sum[j * stride + from + c] += s.p[j] * dout[at + c];
        }
      }
      std::transform(q_sum.begin(), q_sum.end(), dq + at,
                     [](double value) { return static_cast<float>(value); });
    }
  for (std::int64_t j = 0; j < keys; ++j)
    for (std::int64_t c = begin * d; c < end * d; ++c) {
      dk[j * stride + c] = static_cast<float>(k_sum[j * stride + c]);
      dv[j * stride + c] = static_cast<float>(v_sum[j * stride + c]);
    }
  for (std::int64_t h = begin * group; form.sinks && h < end * group; ++h)
    dsinks[h] = static_cast<float>(sink_sum[h]);
}

void attention_backward(ExecutionContext& context, const float* q, const float* k, const float* v,
                        const float* dout, std::int64_t queries, std::int64_t keys, HeadShape shape,
                        std::int64_t begin, std::int64_t end, float* dq, float* dk, float* dv) {
  attention_backward_in_form(context, q, k, v, dout, queries, keys, shape, begin, end, {}, dq, dk,
                             dv, nullptr);
}

}  // namespace rollcall::kernels::reference
