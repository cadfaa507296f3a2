// Attention in a form of module_kernels.hpp, forward and backward, in the order of
// attention.simd.hpp and attention_backward.simd.hpp. A score is scaled, then capped. Keys before
// the window have the weight 0, and pages and splits before it are skipped. A sink is added to the
// mass of a row after all keys.
#pragma once

#include "kernels/attention_backward.simd.hpp"
#include "kernels/module_kernels.hpp"
#include "kernels/modules/softcap.simd.hpp"

namespace rollcall::kernels::ROLLCALL_ISA {

static inline float scale_of(const AttentionForm& form, std::int64_t head_dim) {
  if (form.scale != 0) return form.scale;
  return 1.0F / __builtin_sqrtf(static_cast<float>(head_dim));
}

/// Scores without those of the first `count` keys.
static inline Vec from_key(Vec score, std::int64_t count) {
  if (count <= 0) return score;
  return keep_first(splat(kBelowAllScores), count < kLanes ? count : kLanes, score);
}

template <class Products>
struct FormScratch : AttentionScratch<Products> {
  static constexpr bool kPlain = false;
  const AttentionForm& form;
  float scale;

  FormScratch(ExecutionContext& context, std::int64_t head_dim, const AttentionForm* given)
      : AttentionScratch<Products>(context, head_dim),
        form(*given),
        scale(scale_of(*given, head_dim)) {}

  std::int64_t first_key(std::int64_t keys) const { return form.first_key(keys); }
  const float* sinks() const { return form.sinks; }
  /// The scores of the keys from position `first` on, for a row with this number of keys. `product`
  /// is q k.
  Vec score(Vec product, std::int64_t keys, std::int64_t first) const {
    Vec score = product * splat(scale);
    if (form.cap != 0) score = splat(form.cap) * tanh_of(score / splat(form.cap));
    return from_key(score, form.first_key(keys) - first);
  }
};

template <class Products>
static void attention_in_form(ExecutionContext& context, const float* q, const AttentionRow* rows,
                              std::int64_t n, HeadShape shape, AttentionPart part,
                              const AttentionForm& form, float* out) {
  paged_attention<Products, FormScratch<Products>>(context, q, rows, n, shape, part, out, &form);
}

/// One query of the backward pass: its row of S and dP in the chunks [begin, end), of which it sees
/// the keys before `seen`. The functions are called in the order in which they are written here.
template <class Backward>
struct FormRow {
  Backward& b;
  const AttentionForm& form;
  float* slopes;  ///< [keys] the derivatives of the capped scores
  std::int64_t rows, row, seen, begin, end;

  float* of(float* chunks, std::int64_t c) const { return b.row(chunks, c, rows, row); }

  /// Calls visit(s, ds, count, key) for up to 16 keys from `key` on.
  template <class Visit>
  void each(const Visit& visit) const {
    for (std::int64_t c = begin; c < end; ++c) {
      float *s = of(b.scratch.scores, c), *ds = of(b.scratch.dscores, c);
      const std::int64_t left = seen - c * kKeyChunk,
                         count = left < b.chunk_keys(c) ? left : b.chunk_keys(c);
      for (std::int64_t j = 0; j < count; j += kLanes)
        visit(s + j, ds + j, count - j, c * kKeyChunk + j);
    }
  }

  /// Turns q k into scores, and returns the largest one.
  float scores() const {
    const Vec scale = splat(scale_of(form, b.d())), cap = splat(form.cap);
    Vec largest = splat(kBelowAllScores);
    each([&](float* s, const float*, std::int64_t count, std::int64_t key) {
      Vec score = load_up_to(s, count) * scale;
      if (form.cap != 0) {
        const Vec t = tanh_of(score / cap);
        store_up_to(slopes + key, count, slope_of(t));
        score = cap * t;
      }
      score = from_key(score, form.first_key(seen) - key);
      store_up_to(s, count, score);
      largest = max(largest, count < kLanes ? keep_first(score, count, largest) : score);
    });
    return fold_max(largest);
  }
  /// Turns scores into exp(score - top), and returns their sum.
  float exponentials(float top) const {
    Vec sum = splat(0.0F);
    each([&](float* s, const float*, std::int64_t count, std::int64_t) {
      const Vec e = exp_nonpositive(load_up_to(s, count, kBelowAllScores) - splat(top));
      sum = sum + e;
      store_up_to(s, count, e);
    });
    return fold_sum(sum);
  }
  /// Turns exponentials into P, and returns rowsum(P dP).
  float probabilities(float mass) const {
    Vec mean = splat(0.0F);
    each([&](float* s, const float* ds, std::int64_t count, std::int64_t) {
      const Vec p = load_up_to(s, count) / splat(mass);
      mean = fma(p, load_up_to(ds, count), mean);
      store_up_to(s, count, p);
    });
    return fold_sum(mean);
  }
  /// Turns dP into dS. Beyond the keys that the query sees P and dS become 0.
  void gradients(float pull) const {
    const Vec scale = splat(scale_of(form, b.d()));
    each([&](const float* s, float* ds, std::int64_t count, std::int64_t key) {
      Vec d = load_up_to(s, count) * (load_up_to(ds, count) - splat(pull));
      if (form.cap != 0) d = d * load_up_to(slopes + key, count);
      store_up_to(ds, count, d * scale);
    });
    for (std::int64_t c = begin; c < end; ++c) {
      const std::int64_t left = seen - c * kKeyChunk;
      for (std::int64_t j = left < 0 ? 0 : left; j < b.chunk_keys(c); ++j)
        of(b.scratch.scores, c)[j] = of(b.scratch.dscores, c)[j] = 0.0F;
    }
  }
};

struct FormHeadScratch : HeadScratch {
  static constexpr bool kPlain = false;
  const AttentionForm& form;
  float* dsinks;
  float* slopes = nullptr;  ///< [keys] of the query whose turn it is

  FormHeadScratch(const AttentionForm& given, float* gradients)
      : HeadScratch{}, form(given), dsinks(gradients) {}

  std::int64_t first_key(std::int64_t keys) const { return form.first_key(keys); }

  /// Turns row r of S and dP into one of P and dS, in chunks [begin, end). With a sink of score s,
  /// P_s = exp(s - top) / mass, and its gradient is -P_s rowsum(P dP), because its dP is 0.
  template <class Backward>
  void softmax(Backward& b, std::int64_t head, std::int64_t rows, std::int64_t r, std::int64_t seen,
               std::int64_t begin, std::int64_t end) {
    const FormRow<Backward> row{b, form, slopes, rows, r, seen, begin, end};
    float top = row.scores();
    if (form.sinks && form.sinks[head] > top) top = form.sinks[head];
    float mass = row.exponentials(top), of_sink = 0.0F;
    if (form.sinks) mass += of_sink = first(exp_nonpositive(splat(form.sinks[head] - top)));
    const float pull = row.probabilities(mass);
    row.gradients(pull);
    if (form.sinks) dsinks[head] = fma(-(of_sink / mass), pull, dsinks[head]);
  }
};

template <class Numerics>
static void attention_backward_in_form(ExecutionContext& context, const float* q, const float* k,
                                       const float* v, const float* dout, std::int64_t queries,
                                       std::int64_t keys, HeadShape shape, std::int64_t begin,
                                       std::int64_t end, const AttentionForm& form, float* dq,
                                       float* dk, float* dv, float* dsinks) {
  const std::int64_t group = shape.q_heads / shape.kv_heads;
  for (std::int64_t h = begin * group; form.sinks && h < end * group; ++h) dsinks[h] = 0.0F;
  AttentionBackward<Numerics, FormHeadScratch> backward{
      context, shape, queries, keys, q, k, v, dout, dq, dk, dv, FormHeadScratch(form, dsinks)};
  backward.heads(begin, end);
}

}  // namespace rollcall::kernels::ROLLCALL_ISA
