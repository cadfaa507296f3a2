// Softmax attention over pages of keys and values. It has one fixed order over keys, so that
// prefill, decode and training agree bit for bit.
//
// For each query row, the scores of a page are one product with its packed keys. Then m' = max(m,
// scores), p = exp(score - m'), l' = l exp(m - m') + sum p, and the sum of the output is multiplied
// by exp(m - m') before the product of p with the packed values is added. After every 1,024 keys
// that state is folded into the row's total; the first state becomes the total. So longer contexts
// can be split between threads or devices without changing bits. `Products`, which depends on the
// numerics, supplies the products, and p is rounded as they round. What else differs between
// architectures is in modules/attention_form.simd.hpp.
#pragma once

#include "kernels/bf16_linear.simd.hpp"
#include "kernels/kernel_set.hpp"
#include "kernels/linear.simd.hpp"

namespace rollcall::kernels::ROLLCALL_ISA {

/// The score of keys that a row does not attend to. Its exp is 0.
inline constexpr float kBelowAllScores = -3.0e38F;
inline constexpr std::int64_t kQueryRows = 16;  // query rows that are computed together
inline constexpr std::int64_t kKeyPanels = kPageKeys / kLanes, kSplitPages = 1024 / kPageKeys;
/// The number of common positions that rows read together is a multiple of this: whole panels of
/// keys, and whole blocks of values.
inline constexpr std::int64_t kAlikeUnit = 32;

/// Scratch memory for one block of query rows. Sums and outputs are [panel][row][16].
template <class Products>
struct AttentionScratch {
  static constexpr bool kPlain = true;  ///< all keys count, and a score is q k / sqrt(head_dim)
  typename Products::Input *queries, *weights;  ///< [2 * 16 rows], prepared: a tile may read beyond
                                                ///< the rows that it is asked for
  float *scores, *row_weights, *sum, *total;  ///< [4 panels][16][16]; [64]; [panels][16][16] twice

  AttentionScratch(ExecutionContext& context, std::int64_t head_dim) {
    const auto inputs = [](std::int64_t k) {
      return (2 * kQueryRows * Products::parts(k) *
                  static_cast<std::int64_t>(sizeof(typename Products::Input)) / 4 +
              kLanes - 1) /
             kLanes * kLanes;
    };
    const std::int64_t panels = (head_dim + kLanes - 1) / kLanes * kQueryRows * kLanes,
                       page = kKeyPanels * kQueryRows * kLanes;
    float* memory = context.workspace.floats(static_cast<std::size_t>(
        inputs(head_dim) + inputs(kPageKeys) + page + kPageKeys + 2 * panels));
    queries = reinterpret_cast<typename Products::Input*>(memory);
    weights = reinterpret_cast<typename Products::Input*>(memory += inputs(head_dim));
    scores = memory += inputs(kPageKeys);
    row_weights = memory += page;
    sum = memory += kPageKeys;
    total = memory + panels;
    __builtin_memset(
        queries, 0, static_cast<std::size_t>(inputs(head_dim) + inputs(kPageKeys)) * sizeof(float));
  }
};

/// Up to 16 query rows that read one key head: `heads` query heads of each of `tokens` rows.
template <class Products, class Scratch>
class QueryBlock {
 public:
  /// `offset`: bytes from the beginning of a page to the layer.
  QueryBlock(Scratch& scratch, const float* q, const AttentionRow* rows, std::int64_t tokens,
             HeadShape shape, std::int64_t offset, std::int64_t key_head, std::int64_t first_head,
             std::int64_t heads)
      : s_(scratch),
        rows_(rows),
        tokens_(tokens),
        heads_(heads),
        dim_(shape.head_dim),
        first_head_(first_head),
        q_heads_(shape.q_heads) {
    const std::int64_t key_weights = kKeyPanels * Products::panel_weights(dim_),
                       value_weights = panels() * Products::panel_weights(kPageKeys);
    values_ = key_weights;
    head_bytes_ = offset + key_head * (key_weights + value_weights) *
                               static_cast<std::int64_t>(sizeof(typename Products::Weight));
    store(top_, splat(kBelowAllScores));
    for (std::int64_t r = 0; r < tokens * heads; ++r) {
      Products::prepare(q + place(r), dim_, s_.queries + r * Products::parts(dim_));
      total_top_[r] = kBelowAllScores;
      mass_[r] = total_mass_[r] = 0.0F;
      for (std::int64_t c = 0; c < panels(); ++c) store(cell(s_.sum, c, r), splat(0.0F));
    }
  }

  /// `alike`: the number of leading positions that are the same for all rows.
  void run(std::int64_t alike, float* out) {
    if constexpr (!Scratch::kPlain) return run_from_first_keys(alike, out);
    std::int64_t least = pages(0), most = 0;
    for (std::int64_t t = 0; t < tokens_; ++t) {
      least = pages(t) < least ? pages(t) : least;
      most = pages(t) > most ? pages(t) : most;
    }
    for (std::int64_t split = 0; split < most; split += kSplitPages) {
      for (std::int64_t p = split; p < split + kSplitPages && p < most; ++p) {
        const std::int64_t together = p < least ? alike - p * kPageKeys : 0;
        const std::int64_t step = together < kAlikeUnit ? 1 : tokens_;
        for (std::int64_t t = 0; t < tokens_; t += step)
          if (p < pages(t))
            page(p, t, t + step,
                 together < kAlikeUnit || together > kPageKeys
                     ? kPageKeys
                     : together / kAlikeUnit * kAlikeUnit);
      }
      if (most <= kSplitPages) return write(out, s_.sum, mass_);
      for (std::int64_t t = 0; t < tokens_; ++t)
        if (split < pages(t)) fold(t, split == 0);
    }
    write(out, s_.total, total_mass_);
  }

  /// run() for rows that may not attend to their first keys. Pages and splits before the first key
  /// of a row are skipped, and the first state of a row that is not empty becomes its total.
  void run_from_first_keys(std::int64_t alike, float* out) {
    std::int64_t least = pages(0), most = 0, earliest = first_page(0), latest = 0;
    for (std::int64_t t = 0; t < tokens_; ++t) {
      least = pages(t) < least ? pages(t) : least;
      most = pages(t) > most ? pages(t) : most;
      earliest = first_page(t) < earliest ? first_page(t) : earliest;
      latest = first_page(t) > latest ? first_page(t) : latest;
    }
    const std::int64_t first_split = split_of(earliest);
    for (std::int64_t split = first_split; split < most; split += kSplitPages) {
      for (std::int64_t p = earliest > split ? earliest : split;
           p < split + kSplitPages && p < most; ++p) {
        const std::int64_t together = latest <= p && p < least ? alike - p * kPageKeys : 0;
        const std::int64_t step = together < kAlikeUnit ? 1 : tokens_;
        for (std::int64_t t = 0; t < tokens_; t += step)
          if (first_page(t) <= p && p < pages(t))
            page(p, t, t + step,
                 together < kAlikeUnit || together > kPageKeys
                     ? kPageKeys
                     : together / kAlikeUnit * kAlikeUnit);
      }
      if (most <= first_split + kSplitPages) return write_with_sinks(out, s_.sum, mass_, top_);
      for (std::int64_t t = 0; t < tokens_; ++t)
        if (split_of(first_page(t)) <= split && split < pages(t))
          fold(t, split == split_of(first_page(t)));
    }
    write_with_sinks(out, s_.total, total_mass_, total_top_);
  }

 private:
  std::int64_t panels() const { return (dim_ + kLanes - 1) / kLanes; }
  std::int64_t pages(std::int64_t token) const {
    return (rows_[token].keys + kPageKeys - 1) / kPageKeys;
  }
  /// The page of the first position that a token attends to, and the first page of a page's split.
  std::int64_t first_page(std::int64_t token) const {
    return s_.first_key(rows_[token].keys) / kPageKeys;
  }
  static std::int64_t split_of(std::int64_t page) { return page / kSplitPages * kSplitPages; }
  std::int64_t place(std::int64_t r) const {
    return (r / heads_ * q_heads_ + first_head_ + r % heads_) * dim_;
  }
  static float* cell(float* of, std::int64_t panel, std::int64_t row) {
    return of + (panel * kQueryRows + row) * kLanes;
  }
  void write(float* out, float* sum, const float* mass) {
    for (std::int64_t r = 0; r < tokens_ * heads_; ++r)
      for (std::int64_t c = 0; c < panels(); ++c)
        store_up_to(out + place(r) + c * kLanes, dim_ - c * kLanes,
                    load(cell(sum, c, r)) / splat(mass[r]));
  }

  /// A sink is one more key, which has a score of its own and no value.
  void write_with_sinks(float* out, float* sum, float* mass, const float* tops) {
    for (std::int64_t r = 0; s_.sinks() && r < tokens_ * heads_; ++r) {
      const float sink = s_.sinks()[first_head_ + r % heads_],
                  top = sink > tops[r] ? sink : tops[r], kept = first_exp(tops[r] - top);
      mass[r] = fma(mass[r], kept, first_exp(sink - top));
      for (std::int64_t c = 0; c < panels(); ++c)
        store(cell(sum, c, r), load(cell(sum, c, r)) * splat(kept));
    }
    write(out, sum, mass);
  }

  const typename Products::Weight* keys_of(std::int64_t token, std::int64_t p) const {
    return reinterpret_cast<const typename Products::Weight*>(
        static_cast<const char*>(rows_[token].pages[p]) + head_bytes_);
  }
  /// The number of positions of page p that a token attends to.
  std::int64_t seen(std::int64_t token, std::int64_t p) const {
    const std::int64_t left = rows_[token].keys - p * kPageKeys;
    return left < kPageKeys ? left : kPageKeys;
  }

  /// Page p for tokens [begin, end). Its first `together` positions are read for all of them from
  /// the first token's page, the others from each token's own page.
  void page(std::int64_t p, std::int64_t begin, std::int64_t end, std::int64_t together) {
    const std::int64_t first = begin * heads_, count = (end - begin) * heads_,
                       parts = Products::parts(kPageKeys);
    std::int64_t most = 0;  // positions of this page that any row attends to; the weights of the
                            // other positions are 0 and add nothing
    for (std::int64_t t = begin; t < end; ++t) most = seen(t, p) > most ? seen(t, p) : most;
    const std::int64_t key_panels = (most + kLanes - 1) / kLanes,
                       of_all = most < together ? most : together, apart = together / kLanes;
    for (std::int64_t g = 0; g < key_panels; ++g)
      for (std::int64_t r = first; r < first + count; ++r)
        store(cell(s_.scores, g, r), splat(0.0F));
    Products::add(s_.queries + first * Products::parts(dim_), Products::parts(dim_), count,
                  keys_of(begin, p), (of_all + kLanes - 1) / kLanes, dim_, dim_,
                  cell(s_.scores, 0, first));
    for (std::int64_t t = begin; t < end; ++t)
      if (seen(t, p) > together)
        Products::add(s_.queries + t * heads_ * Products::parts(dim_), Products::parts(dim_),
                      heads_, keys_of(t, p) + apart * Products::panel_weights(dim_),
                      (seen(t, p) + kLanes - 1) / kLanes - apart, dim_, dim_,
                      cell(s_.scores, apart, t * heads_));
    const Vec scale = splat(1.0F / __builtin_sqrtf(static_cast<float>(dim_)));
    float top[kQueryRows], kept[kQueryRows];
    store(top, load(top_));
    for (std::int64_t r = first; r < first + count; ++r) {
      const std::int64_t visible = rows_[r / heads_].keys - p * kPageKeys;
      Vec largest = splat(top_[r]);
      for (std::int64_t g = 0; g < key_panels; ++g) {
        const std::int64_t left = visible - g * kLanes;
        Vec score = load(cell(s_.scores, g, r)) * scale;
        if constexpr (!Scratch::kPlain)
          score = s_.score(load(cell(s_.scores, g, r)), rows_[r / heads_].keys,
                           p * kPageKeys + g * kLanes);
        if (left < kLanes) score = keep_first(score, left < 0 ? 0 : left, splat(kBelowAllScores));
        store(cell(s_.scores, g, r), score);
        largest = max(largest, score);
      }
      top[r] = fold_max(largest);
    }
    store(kept, exp_nonpositive(load(top_) - load(top)));
    store(top_, load(top));
    for (std::int64_t r = first; r < first + count; ++r) {
      Vec weight[kKeyPanels];
      for (std::int64_t g = 0; g < kKeyPanels; ++g) {
        weight[g] =
            g < key_panels
                ? Products::rounded(exp_nonpositive(load(cell(s_.scores, g, r)) - splat(top[r])))
                : splat(0.0F);
        store(s_.row_weights + g * kLanes, weight[g]);
      }
      mass_[r] =
          fma(mass_[r], kept[r], fold_sum((weight[0] + weight[1]) + (weight[2] + weight[3])));
      Products::prepare(s_.row_weights, kPageKeys, s_.weights + r * parts);
      for (std::int64_t c = 0; c < panels(); ++c)
        store(cell(s_.sum, c, r), load(cell(s_.sum, c, r)) * splat(kept[r]));
    }
    Products::add(s_.weights + first * parts, parts, count, keys_of(begin, p) + values_, panels(),
                  kPageKeys, of_all, cell(s_.sum, 0, first));
    for (std::int64_t t = begin; t < end; ++t)
      if (seen(t, p) > together)
        Products::add(s_.weights + t * heads_ * parts + Products::parts(together), parts, heads_,
                      keys_of(t, p) + values_ + together * kLanes, panels(), kPageKeys,
                      seen(t, p) - together, cell(s_.sum, 0, t * heads_));
  }

  /// Folds the state of a token into its total. The state then begins again.
  void fold(std::int64_t token, bool first_split) {
    for (std::int64_t r = token * heads_; r < (token + 1) * heads_; ++r) {
      const float top = total_top_[r] > top_[r] ? total_top_[r] : top_[r],
                  kept = first_exp(total_top_[r] - top), joins = first_exp(top_[r] - top);
      total_mass_[r] = first_split ? mass_[r] : fma(total_mass_[r], kept, mass_[r] * joins);
      for (std::int64_t c = 0; c < panels(); ++c) {
        float *total = cell(s_.total, c, r), *sum = cell(s_.sum, c, r);
        store(total,
              first_split ? load(sum) : fma(load(total), splat(kept), load(sum) * splat(joins)));
        store(sum, splat(0.0F));
      }
      total_top_[r] = top;
      top_[r] = kBelowAllScores;
      mass_[r] = 0.0F;
    }
  }

  static float first_exp(float x) { return first(exp_nonpositive(splat(x))); }

  Scratch& s_;
  const AttentionRow* rows_;
  std::int64_t tokens_, heads_, dim_, first_head_, q_heads_, values_ = 0, head_bytes_ = 0;
  float top_[kQueryRows], mass_[kQueryRows], total_top_[kQueryRows], total_mass_[kQueryRows];
};

/// The number of leading positions that a row and the one before it can read together.
static inline std::int64_t alike(const AttentionRow* row) {
  return row[0].pages == row[-1].pages ? INT64_MAX : row[0].alike;
}

template <class Products, class Scratch = AttentionScratch<Products>, class... Form>
static void paged_attention(ExecutionContext& context, const float* q, const AttentionRow* rows,
                            std::int64_t n, HeadShape shape, AttentionPart part, float* out,
                            Form... form) {
  [[maybe_unused]] const typename Products::Scope scope;
  Scratch scratch(context, shape.head_dim, form...);
  const std::int64_t group = shape.q_heads / shape.kv_heads,
                     heads = group < kQueryRows ? group : kQueryRows,
                     width = shape.q_heads * shape.head_dim;
  for (std::int64_t i = 0; i < n;) {
    std::int64_t count = 1, together = INT64_MAX;
    for (; count < kQueryRows / heads && i + count < n; ++count) {
      const std::int64_t next = alike(rows + i + count);
      if (next < kAlikeUnit) break;
      together = next < together ? next : together;
    }
    for (std::int64_t h = part.first; h < part.last; ++h)
      for (std::int64_t g = 0; g < group; g += heads)
        QueryBlock<Products, Scratch>(scratch, q + i * width, rows + i, count, shape, part.offset,
                                      h, h * group + g, group - g < heads ? group - g : heads)
            .run(together, out + i * width);
    i += count;
  }
}

static void attention(ExecutionContext& context, const float* q, const AttentionRow* rows,
                      std::int64_t n, HeadShape shape, AttentionPart part, float* out) {
  paged_attention<Fp32Products>(context, q, rows, n, shape, part, out);
}
static void attention_bf16(ExecutionContext& context, const float* q, const AttentionRow* rows,
                           std::int64_t n, HeadShape shape, AttentionPart part, float* out) {
  paged_attention<Bf16Products>(context, q, rows, n, shape, part, out);
}

}  // namespace rollcall::kernels::ROLLCALL_ISA
