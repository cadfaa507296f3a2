// Reference for softmax attention with grouped query heads, and for its backward pass over one
// causal sequence.
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

/// softmax(q k_j / sqrt(d)) over j. k points to key row 0 of the head.
std::vector<double> probabilities(const float* q, const float* k, std::int64_t keys,
                                  std::int64_t stride, std::int64_t d) {
  std::vector<double> p(static_cast<std::size_t>(keys));
  for (std::int64_t j = 0; j < keys; ++j)
    p[j] = dot(q, k + j * stride, d) / std::sqrt(static_cast<double>(d));
  const double largest = *std::max_element(p.begin(), p.end());
  double sum = 0.0;
  for (double& value : p) sum += value = std::exp(value - largest);
  for (double& value : p) value /= sum;
  return p;
}

}  // namespace

void attention(ExecutionContext&, const float* q, const AttentionRow* rows, std::int64_t n,
               HeadShape shape, AttentionPart part, float* out) {
  const std::int64_t d = shape.head_dim, group = shape.q_heads / shape.kv_heads;
  std::vector<float> k, v;  // keys and values of a row and head, read from the pages
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t h = part.first * group; h < part.last * group; ++h) {
      const std::int64_t keys = rows[i].keys, at = (i * shape.q_heads + h) * d;
      k.resize(static_cast<std::size_t>(keys * d)), v.resize(k.size());
      for (std::int64_t j = 0; j < keys; ++j)
        load_position_fp32(static_cast<const char*>(rows[i].pages[j / kPageKeys]) + part.offset,
                           shape, h / group, j % kPageKeys, &k[j * d], &v[j * d]);
      const std::vector<double> p = probabilities(q + at, k.data(), keys, d, d);
      for (std::int64_t c = 0; c < d; ++c) {
        double sum = 0.0;
        for (std::int64_t j = 0; j < keys; ++j) sum += p[j] * v[j * d + c];
        out[at + c] = static_cast<float>(sum);
      }
    }
}

void attention_backward(ExecutionContext&, const float* q, const float* k, const float* v,
                        const float* dout, std::int64_t queries, std::int64_t keys, HeadShape shape,
                        std::int64_t begin, std::int64_t end, float* dq, float* dk, float* dv) {
  const std::int64_t d = shape.head_dim, group = shape.q_heads / shape.kv_heads,
                     stride = shape.kv_heads * d, before = keys - queries;
  std::vector<double> k_sum(static_cast<std::size_t>(keys * stride)), v_sum(k_sum.size());
  for (std::int64_t i = 0; i < queries; ++i)
    for (std::int64_t h = begin * group; h < end * group; ++h) {
      const std::int64_t at = (i * shape.q_heads + h) * d, from = h / group * d,
                         seen = before + i + 1;
      const std::vector<double> p = probabilities(q + at, k + from, seen, stride, d);
      std::vector<double> ds(p.size()), q_sum(static_cast<std::size_t>(d));
      double mean = 0.0;
      for (std::int64_t j = 0; j < seen; ++j)
        mean += p[j] * (ds[j] = dot(dout + at, v + j * stride + from, d));
      for (std::int64_t j = 0; j < seen; ++j) {
        ds[j] = p[j] * (ds[j] - mean) / std::sqrt(static_cast<double>(d));
        for (std::int64_t c = 0; c < d; ++c) {
          q_sum[c] += ds[j] * k[j * stride + from + c];
          k_sum[j * stride + from + c] += ds[j] * q[at + c];
          v_sum[j * stride + from + c] += p[j] * dout[at + c];
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
}

}  // namespace rollcall::kernels::reference
