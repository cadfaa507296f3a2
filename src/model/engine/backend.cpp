// The forward operations on the host. Their rows are in scratch memory, which each residual add
// gives back.
#include "model/engine/backend.hpp"

#include "base/errors/error.hpp"
#include "model/block/block.hpp"

#include <algorithm>

namespace rollcall::model {
namespace {

/// Floats per row between two residual adds, for the larger of a block's attention half and MLP
/// half.
std::int64_t scratch_width(const ModelConfig& c) {
  const std::int64_t q = c.num_attention_heads * c.head_dim,
                     kv = c.num_key_value_heads * c.head_dim, norms = c.qk_norm ? q + kv : 0;
  return std::max(2 * c.hidden_size + 2 * q + 2 * kv + norms,
                  2 * c.hidden_size + 3 * c.intermediate_size);
}

/// Floats per row in a block whose rows are kept.
std::int64_t kept_width(const ModelConfig& c) {
  const std::int64_t q = c.num_attention_heads * c.head_dim,
                     kv = c.num_key_value_heads * c.head_dim, norms = c.qk_norm ? q + kv : 0;
  return 4 * c.hidden_size + 2 * q + 2 * kv + norms + 3 * c.intermediate_size;
}

constexpr std::int64_t kScratchPieces = 16;  // buffers of a block, each padded to a cache line

std::int64_t block_floats(const ModelConfig& c, std::int64_t rows, std::int64_t kept) {
  return kept > 0 ? kept * (rows * kept_width(c) + kScratchPieces * 16)
                  : rows * scratch_width(c) + kScratchPieces * 16;
}
std::int64_t head_floats(const ModelConfig& c, std::int64_t rows, bool logits) {
  return std::min(rows, Backend::kHeadRows) * (2 * c.hidden_size + (logits ? c.vocab_size : 0)) +
         32;
}

// The smallest part of an operation that is worth a second thread: some microseconds of work.
constexpr std::int64_t kLeastElements = 8192;
constexpr std::int64_t kLeastWeights = 16384;  // weights of a part, if x is one row
constexpr std::int64_t kPanelUnit = 6;  // a multiple of the panels that each set computes at once
constexpr std::int64_t kAttentionRows = 16;      // rows in a part of attention
constexpr std::int64_t kCachedInputs = 1 << 19;  // numbers of x that stay in a core's second-level
                                                 // cache while all weights are read

}  // namespace

Backend::Backend(const ModelConfig& config, Team& team, std::int64_t max_rows, std::int64_t kept,
                 bool logits)
    : team_(&team),
      contexts_(std::size_t(team.size())),
      max_rows_(max_rows),
      keeps_(kept > 0),
      makes_room_(logits),
      x_(std::size_t(max_rows * config.hidden_size)),
      head_scratch_(std::size_t(head_floats(config, max_rows, logits))),
      scratch_(block_floats(config, max_rows, kept)) {}

std::int64_t Backend::scratch_bytes(const ModelConfig& c, std::int64_t max_rows, std::int64_t kept,
                                    bool logits) {
  return (max_rows * c.hidden_size + block_floats(c, max_rows, kept) +
          head_floats(c, max_rows, logits)) *
         std::int64_t(sizeof(float));
}

Backend::Rows Backend::embed(const PolicyModel::Packed& policy,
                             std::span<const std::int32_t> tokens,
                             std::span<const std::int32_t> positions, KeyValues& memory) {
  n_ = std::int64_t(tokens.size());
  expect(n_ <= max_rows_ && positions.size() == tokens.size(), "rows fit the backend");
  policy_ = &policy;
  positions_ = positions.data();
  memory_ = &memory;
  const std::int64_t width = policy.config.hidden_size;
  team_->share(n_, kLeastElements / width + 1, 1, [&](int, std::int64_t first, std::int64_t last) {
    for (std::int64_t row = first; row < last; ++row)
      policy.embedding.row(tokens[std::size_t(row)], x_.data() + row * width);
  });
  release();
  return {x_.data(), width};
}

const float* Backend::hidden(const PolicyModel::Packed& policy,
                             std::span<const std::int32_t> tokens,
                             std::span<const std::int32_t> positions, KeyValues& memory) {
  Rows x = embed(policy, tokens, positions, memory);
  for (std::size_t i = 0; i < policy.layers.size(); ++i) x = run_block(*this, policy, i, x).y();
  return x.values;
}

void Backend::logits(const PolicyModel::Packed& policy, std::span<const float* const> rows,
                     const VisitLogits& visit, float* kept) {
  expect(makes_room_ || kept != nullptr, "logits have room");
  policy_ = &policy;
  const std::int64_t width = policy.config.hidden_size, most = std::min(max_rows_, kHeadRows);
  float* gathered = head_scratch_.data();
  float* normed = gathered + Arena::padded(most * width);
  float* const passing = normed + Arena::padded(most * width);
  const std::array<const Linear*, 1> head{&policy.head};
  for (std::size_t first = 0; first < rows.size(); first += std::size_t(most)) {
    const std::size_t count = std::min<std::size_t>(std::size_t(most), rows.size() - first);
    for (std::size_t i = 0; i < count; ++i)
      std::copy_n(rows[first + i], width, gathered + std::int64_t(i) * width);
    normalise(gathered, std::int64_t(count), policy.final_norm, normed);
    const Rows out{kept != nullptr ? kept + std::int64_t(first) * policy.head.outputs : passing,
                   policy.head.outputs};
    products(normed, std::int64_t(count), head, &out);
    visit(first, count, out.values, normed);
  }
}

void Backend::products(const float* x, std::int64_t n, std::span<const Linear* const> linears,
                       const Rows* y) {
  std::array<kernels::Product, 3> products{};
  expect(linears.size() <= products.size(), "no more products share their input");
  const Linear& one = *linears.front();
  std::int64_t panels = 0;
  for (std::size_t i = 0; i < linears.size(); ++i) {
    products[i] = {linears[i]->panels, linears[i]->outputs, linears[i]->bias, y[i].values};
    panels += kernels::panels_of(linears[i]->outputs);
  }
  const auto run = [&](int member, std::int64_t first_row, std::int64_t rows, std::int64_t begin,
                       std::int64_t end) {
    auto part = products;
    for (std::size_t i = 0; i < linears.size(); ++i) part[i].y += first_row * linears[i]->outputs;
    policy_->kernels->linear(context(member), x + first_row * one.inputs, rows, one.inputs,
                             part.data(), int(linears.size()), one.slices, begin, end);
  };
  if (const Parts parts = even_parts(n, kCachedInputs / one.inputs, team_->size());
      (n * one.inputs > kCachedInputs || panels < team_->size()) && parts.count >= team_->size() &&
      parts.count > 1)
    return team_->deal(parts.count, [&](int member, std::int64_t p) {
      run(member, p * parts.size, std::min(parts.size, n - p * parts.size), 0, panels);
    });
  const std::int64_t least = kLeastWeights / (kernels::kPanel * one.inputs * (1 + n / 8)) + 1;
  const std::int64_t unit = panels >= 2 * kPanelUnit * team_->size() ? kPanelUnit : 1;
  team_->share(panels, least, unit, [&](int member, std::int64_t begin, std::int64_t end) {
    run(member, 0, n, begin, end);
  });
}

void Backend::normalise(const float* x, std::int64_t n, const Norm& norm, float* y) {
  team_->share(n, kLeastElements / norm.width + 1, 1,
               [&](int member, std::int64_t first, std::int64_t last) {
                 policy_->kernels->rms_norm(context(member), x + first * norm.width, last - first,
                                            norm.width, norm.values, norm_eps(*policy_),
                                            y + first * norm.width);
               });
}

Backend::Rows Backend::rms_norm(Rows x, const Norm& norm) {
  const Rows y = take(x.width);
  normalise(x.values, n_ * (x.width / norm.width), norm, y.values);
  return y;
}

void Backend::rope(Rows x, int table, int direction) {
  const RotaryTable& rotary = *policy_->rotary[std::size_t(table)];
  const std::int64_t head_dim = policy_->config.head_dim;
  team_->share(n_, kLeastElements / x.width + 1, 1,
               [&](int member, std::int64_t first, std::int64_t last) {
                 policy_->kernels->rope(context(member), x.values + first * x.width, last - first,
                                        x.width / head_dim, head_dim, positions_ + first,
                                        rotary.cos.data(), rotary.sin.data(), direction);
               });
}

Backend::Rows Backend::attention(std::size_t layer, Rows q, Rows k, Rows v) {
  const Rows out = take(q.width);
  const std::int64_t units = memory_->units();
  team_->share(units, (units * kLeastElements) / std::max<std::int64_t>(n_ * k.width, 1) + 1, 1,
               [&](int, std::int64_t first, std::int64_t last) {
                 for (std::int64_t unit = first; unit < last; ++unit)
                   memory_->store(layer, unit, k.values, v.values);
               });
  const auto rows = memory_->rows();
  const kernels::HeadShape heads = head_shape(*policy_);
  const std::int64_t offset = memory_->offset(layer);
  if (team_->size() == 1) {
    policy_->kernels->attention(context(), q.values, rows.data(), n_, heads,
                                {offset, 0, heads.kv_heads}, out.values);
    return out;
  }
  const std::int64_t parts = (n_ + kAttentionRows - 1) / kAttentionRows;
  team_->deal(parts * heads.kv_heads, [&](int member, std::int64_t index) {
    const std::int64_t head = index / parts, first = index % parts * kAttentionRows,
                       count = std::min(kAttentionRows, n_ - first);
    policy_->kernels->attention(context(member), q.values + first * q.width, rows.data() + first,
                                count, heads, {offset, head, head + 1},
                                out.values + first * q.width);
  });
  return out;
}

Backend::Rows Backend::swiglu(Rows gate, Rows up) {
  const Rows y = take(gate.width);
  team_->share(n_ * gate.width, kLeastElements / 2, 16,
               [&](int member, std::int64_t first, std::int64_t last) {
                 policy_->kernels->swiglu(context(member), gate.values + first, up.values + first,
                                          1, last - first, y.values + first);
               });
  return y;
}

Backend::Rows Backend::add(Rows x, Rows y) {
  const Rows into = keeps_ ? y : x, other = keeps_ ? x : y;
  team_->share(n_ * x.width, 2 * kLeastElements, 16,
               [&](int, std::int64_t first, std::int64_t last) {
                 for (std::int64_t i = first; i < last; ++i) into.values[i] += other.values[i];
               });
  if (!keeps_) release();
  return into;
}

}  // namespace rollcall::model
