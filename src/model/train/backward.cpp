// The gradient of each operation, and how threads share its rows.
#include "model/train/backward.hpp"

#include "base/errors/error.hpp"
#include "model/block/head.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace rollcall::model {
namespace {

constexpr std::int64_t kOutputs = GradientProducts::kOutputs, kLeast = GradientProducts::kLeast;
/// The rows of a norm are cut into parts of about this many elements, whose gradients with respect
/// to the weight are summed separately. The cut depends on the shape only, and so do the bits.
constexpr std::int64_t kNormElements = 32768;

std::int64_t norm_rows(std::int64_t width) { return kNormElements / width + 1; }
std::int64_t norm_parts(std::int64_t rows, std::int64_t width) {
  return (rows + norm_rows(width) - 1) / norm_rows(width);
}

struct Widths {
  std::int64_t hidden, q, kv, inner;
  explicit Widths(const ModelConfig& c)
      : hidden(c.hidden_size),
        q(c.num_attention_heads * c.head_dim),
        kv(c.num_key_value_heads * c.head_dim),
        inner(c.intermediate_size) {}
  std::int64_t widest() const { return std::max({hidden, q, kv, inner}); }
};

}  // namespace

std::int64_t Backward::scratch_floats(const ModelConfig& c, const kernels::KernelSet& kernels,
                                      std::int64_t rows, std::int64_t targets, int members) {
  const Widths w(c);
  const auto packed = [&](std::int64_t outputs, std::int64_t inputs) {
    return kernels.packed_bytes(outputs, inputs) / 4 + 16;
  };
  const std::int64_t most = std::max(rows, targets),
                     member = GradientProducts::member_floats(most, w.widest());
  const std::int64_t parts =
      std::max(norm_parts(most, w.hidden) * w.hidden,
               norm_parts(rows * c.num_attention_heads, c.head_dim) * c.head_dim);
  const std::int64_t head = targets * (w.hidden + 1) + HeadGradients::floats(c, kernels, targets) +
                            packed(w.hidden, targets);
  const std::int64_t turned = std::max({packed(w.hidden, w.inner), packed(w.inner, w.hidden),
                                        packed(w.q, w.hidden), packed(w.hidden, w.q)});
  const std::int64_t mlp = rows * (3 * w.inner + 2 * w.hidden) + packed(w.widest(), rows) + turned;
  // Keys, values and their gradients count twice, because a sequence with a parent needs copies
  // that include the rows before it.
  const std::int64_t attention =
      rows * (2 * w.q + 2 * w.kv + 4 * Arena::padded(w.kv) + 2 * w.hidden + w.q) +
      packed(w.widest(), rows) + turned;
  return rows * w.hidden + std::max({head, mlp, attention}) + parts + w.widest() +
         members * member + 64 * 16;
}

Backward::Backward(const PolicyModel::Packed& policy, Backend& backend, PackedSequences& sequences,
                   Arena& scratch, const GradientSink& sink)
    : products_(policy, backend, scratch, sink),
      policy_(&policy),
      backend_(&backend),
      team_(&backend.team()),
      sequences_(&sequences),
      scratch_(&scratch),
      sink_(&sink),
      n_(std::int64_t(sequences.positions().size())) {
  scratch_->give_back(0);
}

void Backward::begin(std::int64_t targets) {
  dx_ = take(policy_->head.inputs);
  products_.take_members(std::max(n_, targets), Widths(policy_->config).widest());
}

HeadGradients Backward::head(const Predictions& predictions) {
  return {*policy_, *backend_, products_, *scratch_, predictions};
}

Backward::Rows Backward::gather(const float* hidden, std::span<const std::int64_t> rows) {
  const std::int64_t width = dx_.width;
  float* to = scratch_->take(std::int64_t(rows.size()) * width);
  for (std::size_t i = 0; i < rows.size(); ++i)
    std::copy_n(hidden + rows[i] * width, width, to + std::int64_t(i) * width);
  return {to, width};
}

void Backward::scatter(Rows d, std::span<const std::int64_t> rows) {
  const std::int64_t width = dx_.width;
  std::fill_n(dx_.values, n_ * width, 0.0F);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    float* to = dx_.values + rows[i] * width;
    for (std::int64_t c = 0; c < width; ++c) to[c] += d.values[std::int64_t(i) * width + c];
  }
}

Backward::Rows Backward::linears(Rows x, std::span<const Through<Rows>> all) {
  const Rows dx = take(x.width);
  float* const more = all.size() > 1 ? take(x.width).values : nullptr;
  {
    const Arena::Scope scope(*scratch_);
    const void* packed = products_.packed_inputs(x.values, n_, x.width);
    for (const auto& [linear, dy] : all) {
      products_.weights(linear, 0, dy.values, n_, packed);
      products_.bias(linear, dy.values, n_);
    }
  }
  products_.inputs(all.front().linear, all.front().dy.values, n_, dx.values);
  for (const auto& [linear, dy] : all.subspan(1))
    products_.add_inputs(linear, dy.values, n_, more, dx.values);
  return dx;
}

Backward::Rows Backward::norm(const Norm& norm, std::int64_t rows, Rows x, Rows dy) {
  norm_backward(norm, x.values, rows * (x.width / norm.width), dy.values, dy.values, false);
  return dy;
}

void Backward::norm_into_dx(const Norm& norm, Rows x, Rows dy) {
  norm_backward(norm, x.values, n_, dy.values, dx_.values, true);
}

void Backward::norm_backward(const Norm& norm, const float* x, std::int64_t rows, const float* dy,
                             float* dx, bool added) {
  const std::int64_t width = norm.width, part = norm_rows(width), parts = norm_parts(rows, width);
  const Arena::Scope scope(*scratch_);
  float* sums = scratch_->take(parts * width);
  team_->deal(parts, [&](int member, std::int64_t p) {
    const std::int64_t first = p * part, count = std::min(part, rows - first), at = first * width;
    float *sum = sums + p * width, *into = added ? products_.made(member) : dx + at;
    std::fill_n(sum, width, 0.0F);
    // One call takes at most kOutputs rows, because a member has memory only for their gradients.
    for (std::int64_t row = 0; row < count; row += kOutputs) {
      const std::int64_t some = std::min(kOutputs, count - row), from = at + row * width;
      float* to = added ? into : into + row * width;
      policy_->kernels->rms_norm_backward(backend_->context(member), x + from, some, width,
                                          norm.values, norm_eps(*policy_), dy + from, to, sum);
      if (added)
        for (std::int64_t i = 0; i < some * width; ++i) dx[from + i] += to[i];
    }
  });
  for (std::int64_t p = 1; p < parts; ++p)
    for (std::int64_t i = 0; i < width; ++i) sums[i] += sums[p * width + i];
  (*sink_)(norm.weight, 0, {sums, std::size_t(width)});
}

Heads<Backward::Rows> Backward::attention(const Heads<Rows>& rows, Rows dout) {
  const Heads<Rows> d{take(rows.q.width), take(rows.k.width), take(rows.v.width)};
  // Sequences are taken in order, as many at a time as fit into memory for all rows. A sequence
  // with a parent needs a copy of the rows before it.
  const auto needed = [&](std::size_t s) {
    return sequences_->stretch(s).before > 0 ? sequences_->stretch(s).length() : 0;
  };
  for (std::size_t first = 0, last = 0; first < sequences_->sequences(); first = last) {
    const Arena::Scope scope(*scratch_);
    for (std::int64_t rows_taken = 0;
         last < sequences_->sequences() && rows_taken + needed(last) <= n_; ++last)
      rows_taken += needed(last);
    expect(last > first, "a sequence and what it continues stand in one micro-batch");
    attention(rows, dout, d, first, last);
  }
  return d;
}

void Backward::attention(const Heads<Rows>& rows, Rows dout, const Heads<Rows>& d,
                         std::size_t first, std::size_t last) {
  const std::int64_t wide = rows.q.width, narrow = rows.k.width;
  // A sequence with a parent gets its keys and values, and their gradients, gathered in one piece
  // of memory.
  std::vector<std::array<float*, 4>> own(last - first);
  for (std::size_t s = first; s < last; ++s) {
    const auto& stretch = sequences_->stretch(s);
    auto& pieces = own[s - first];
    if (stretch.before == 0) {
      const std::int64_t from = stretch.begin * narrow;
      pieces = {rows.k.values + from, rows.v.values + from, d.k.values + from, d.v.values + from};
      continue;
    }
    for (float*& piece : pieces) piece = scratch_->take(stretch.length() * narrow);
    sequences_->gather(s, rows.k.values, narrow, pieces[0]);
    sequences_->gather(s, rows.v.values, narrow, pieces[1]);
  }
  const kernels::HeadShape heads = head_shape(*policy_);
  team_->deal(std::int64_t(own.size()) * heads.kv_heads, [&](int member, std::int64_t index) {
    const auto s = std::size_t(index / heads.kv_heads);
    const std::int64_t head = index % heads.kv_heads;
    const auto& stretch = sequences_->stretch(first + s);
    const auto& [k, v, dk, dv] = own[s];
    const std::int64_t from = stretch.begin * wide;
    policy_->kernels->attention_backward(backend_->context(member), rows.q.values + from, k, v,
                                         dout.values + from, stretch.rows, stretch.length(), heads,
                                         head, head + 1, d.q.values + from, dk, dv);
  });
  // Threads share the columns, so that each adds the sequences in order.
  team_->share(narrow, 16, 16, [&](int, std::int64_t begin, std::int64_t end) {
    for (std::size_t s = 0; s < own.size(); ++s) {
      const std::int64_t before = sequences_->stretch(first + s).before;
      if (before == 0) continue;
      for (const auto& [from, into] :
           {std::pair(own[s][2], d.k.values), std::pair(own[s][3], d.v.values)})
        sequences_->each_part(first + s,
                              [&, from = from, into = into](std::int64_t position, std::int64_t row,
                                                            std::int64_t count) {
                                for (std::int64_t i = 0; i < count; ++i) {
                                  const float* more = from + (position + i) * narrow;
                                  float* to = into + (row + i) * narrow;
                                  for (std::int64_t c = begin; c < end; ++c)
                                    to[c] = position < before ? to[c] + more[c] : more[c];
                                }
                              });
    }
  });
}

GatedRows<Backward::Rows> Backward::swiglu(Rows gate, Rows up, Rows dy) {
  const GatedRows<Rows> d{take(gate.width), take(up.width)};
  team_->share(
      n_ * gate.width, kLeast / 2, 16, [&](int member, std::int64_t first, std::int64_t last) {
        policy_->kernels->swiglu_backward(backend_->context(member), gate.values + first,
                                          up.values + first, 1, last - first, dy.values + first,
                                          d.gate.values + first, d.up.values + first);
      });
  return d;
}

/// Adds the rows of equal tokens in row order. The sink receives one row per distinct token.
void Backward::embedding(std::span<const std::int32_t> tokens) {
  const std::int64_t width = dx_.width;
  const TokenGroups groups = token_groups(tokens);
  team_->share(std::int64_t(groups.tokens.size()), kLeast / width + 1, 1,
               [&](int member, std::int64_t first, std::int64_t last) {
                 float* sum = products_.made(member);
                 for (std::int64_t t = first; t < last; ++t) {
                   const auto token = std::size_t(t), begin = std::size_t(groups.begin[token]),
                              end = std::size_t(groups.begin[token + 1]);
                   std::copy_n(dx_.values + groups.rows[begin] * width, width, sum);
                   for (std::size_t i = begin + 1; i < end; ++i)
                     for (std::int64_t c = 0; c < width; ++c)
                       sum[c] += dx_.values[groups.rows[i] * width + c];
                   (*sink_)(policy_->embedding.tensor, groups.tokens[token] * width,
                            {sum, std::size_t(width)});
                 }
               });
}

}  // namespace rollcall::model
