// Token columns of a leaf, without and with gradient.
#include "base/error.hpp"
#include "model/row_engine.hpp"
#include "model/tape_engine.hpp"

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace rollcall::model {

namespace {

/// A leaf run through the blocks of one model; the head runs over its predicting rows.
struct LeafRun {
  LeafRun(const Policy& policy, const Leaf& leaf)
      : packed((expect_leaf(policy.packed(), leaf), policy.packed())),
        sequences(leaf.offsets, packed.kv_width(), leaf.parents),
        engine(packed, std::int64_t(leaf.tokens.size())) {
    const float* hidden = engine.hidden(leaf.tokens, sequences.positions(), sequences);
    for (const std::int64_t row : predicting_rows(leaf)) rows.push_back(hidden + row * packed.config.hidden_size);
    for (const std::int64_t target : leaf.targets) targets.push_back(leaf.tokens[std::size_t(target)]);
  }
  const Policy::Packed& packed;
  PackedSequences sequences;
  RowEngine engine;
  std::vector<const float*> rows;
  std::vector<std::int32_t> targets;
};

/// Sum of squared probabilities of each row of logits, and its divergence from the same row of `other` where there is one.
void distribution_columns(const float* logits, const float* other, std::size_t count, std::size_t vocab, float inverse_temperature, float* squares, float* kl) {
  const auto log_normalizer = [&](const float* row) {
    const double top = double(*std::max_element(row, row + vocab)) * inverse_temperature;
    double sum = 0.0;
    for (std::size_t v = 0; v < vocab; ++v) sum += std::exp(double(row[v]) * inverse_temperature - top);
    return top + std::log(sum);
  };
  for (std::size_t i = 0; i < count; ++i) {
    const float *p_row = logits + i * vocab, *q_row = other == nullptr ? nullptr : other + i * vocab;
    const double p_log = log_normalizer(p_row), q_log = q_row == nullptr ? 0.0 : log_normalizer(q_row);
    double square_sum = 0.0, divergence = 0.0;
    for (std::size_t v = 0; v < vocab; ++v) {
      const double log_p = double(p_row[v]) * inverse_temperature - p_log, p = std::exp(log_p);
      square_sum += p * p;
      if (q_row != nullptr) divergence += p * (log_p - (double(q_row[v]) * inverse_temperature - q_log));
    }
    squares[i] = float(square_sum);
    if (kl != nullptr) kl[i] = float(std::max(divergence, 0.0));
  }
}

}  // namespace

Columns forward(const Policy& policy, const Leaf& leaf, double temperature) {
  LeafRun run(policy, leaf);
  const std::size_t m = run.rows.size(), width = std::size_t(run.packed.config.hidden_size);
  Columns columns{std::vector<float>(m), std::vector<float>(m), std::vector<float>(leaf.hidden ? m * width : 0)};
  std::vector<float> lse(RowEngine::kHeadRows);
  run.engine.logits(run.rows, [&](std::size_t first, std::size_t count, const float* logits, const float* normed) {
    run.packed.kernels->token_columns(run.engine.context(), logits, std::int64_t(count), run.packed.config.vocab_size, inverse_temperature(temperature),
                                      run.targets.data() + first, columns.logprob.data() + first, columns.entropy.data() + first, lse.data());
    if (leaf.hidden) std::copy_n(normed, count * width, columns.hidden.data() + first * width);
  });
  return columns;
}

WideColumns forward_wide(const Policy& policy, const Policy* second, const Leaf& leaf, double temperature) {
  WideColumns wide{forward(policy, leaf, temperature), {}, {}};
  LeafRun run(policy, leaf);
  std::optional<LeafRun> other;
  if (second != nullptr) {
    require<ConfigError>(second->config().vocab_size == policy.config().vocab_size,
                         fmt::format("the second model has {} tokens, the policy {}", second->config().vocab_size, policy.config().vocab_size),
                         "distributions over different vocabularies cannot be compared", "use a model with the policy's tokenizer");
    other.emplace(*second, leaf);
    wide.second_kl.resize(run.rows.size());
  }
  wide.sum_squares.resize(run.rows.size());
  const auto vocab = std::size_t(run.packed.config.vocab_size);
  run.engine.logits(run.rows, [&](std::size_t first, std::size_t count, const float* logits, const float*) {
    const auto visit = [&](const float* others) {
      distribution_columns(logits, others, count, vocab, inverse_temperature(temperature), wide.sum_squares.data() + first,
                           others == nullptr ? nullptr : wide.second_kl.data() + first);
    };
    if (!other) return visit(nullptr);
    other->engine.logits(std::span(other->rows).subspan(first, count), [&](std::size_t, std::size_t, const float* others, const float*) { visit(others); });
  });
  return wide;
}

Columns forward_backward(const Policy& policy, const Leaf& leaf, double temperature, const ColumnGradient& derivative, const GradientSink& sink) {
  const Policy::Packed& packed = policy.packed();
  expect_leaf(packed, leaf);
  expect(derivative.logprob.size() == leaf.targets.size() && derivative.entropy.size() == leaf.targets.size(), "the loss has a derivative for each column");
  if (leaf.targets.empty()) return {};
  TapeEngine engine(packed, leaf, sink);
  return engine.run(leaf, temperature, derivative);
}

void use_one_thread_per_operation() { at::set_num_threads(1); }

}  // namespace rollcall::model
