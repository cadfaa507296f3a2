// Token columns of a leaf, without and with gradient.
#include "base/error.hpp"
#include "model/backend.hpp"
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
        sequences(leaf.offsets, page_shape(packed), leaf.parents),
        backend(packed, alone, std::int64_t(leaf.tokens.size())) {
    const float* hidden = backend.hidden(packed, leaf.tokens, sequences.positions(), sequences);
    for (const std::int64_t row : predicting_rows(leaf)) rows.push_back(hidden + row * packed.config.hidden_size);
    for (const std::int64_t target : leaf.targets) targets.push_back(leaf.tokens[std::size_t(target)]);
  }
  const Policy::Packed& packed;
  PackedSequences sequences;
  Team alone;  ///< leaves are shared out among threads, not their operations
  Backend backend;
  std::vector<const float*> rows;
  std::vector<std::int32_t> targets;
};

}  // namespace

Columns forward(const Policy& policy, const Leaf& leaf, double temperature) {
  LeafRun run(policy, leaf);
  const std::size_t m = run.rows.size(), width = std::size_t(run.packed.config.hidden_size);
  Columns columns{std::vector<float>(m), std::vector<float>(m), std::vector<float>(leaf.hidden ? m * width : 0)};
  std::vector<float> lse(Backend::kHeadRows);
  run.backend.logits(run.packed, run.rows, [&](std::size_t first, std::size_t count, const float* logits, const float* normed) {
    run.packed.kernels->token_columns(run.backend.context(), logits, std::int64_t(count), run.packed.config.vocab_size, inverse_temperature(temperature),
                                      run.targets.data() + first, columns.logprob.data() + first, columns.entropy.data() + first, lse.data(), nullptr, nullptr);
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
  const std::int64_t vocab = run.packed.config.vocab_size;
  const float scale = inverse_temperature(temperature);
  const std::vector<std::int32_t> none(Backend::kHeadRows, -1);
  std::vector<float> unused(none.size()), entropy(none.size()), lse(none.size()), other_lse(none.size());
  const auto log_sums = [&](LeafRun& of, const float* logits, std::size_t count, float* sums) {
    of.packed.kernels->token_columns(of.backend.context(), logits, std::int64_t(count), vocab, scale, none.data(), unused.data(), entropy.data(), sums, nullptr,
                                     nullptr);
  };
  run.backend.logits(run.packed, run.rows, [&](std::size_t first, std::size_t count, const float* logits, const float*) {
    log_sums(run, logits, count, lse.data());
    const auto visit = [&](const float* others) {
      run.packed.kernels->wide_columns(run.backend.context(), logits, others, std::int64_t(count), vocab, scale, lse.data(), other_lse.data(),
                                       wide.sum_squares.data() + first, others == nullptr ? nullptr : wide.second_kl.data() + first);
    };
    if (!other) return visit(nullptr);
    other->backend.logits(other->packed, std::span(other->rows).subspan(first, count), [&](std::size_t, std::size_t, const float* others, const float*) {
      log_sums(*other, others, count, other_lse.data());
      visit(others);
    });
  });
  return wide;
}

Columns forward_backward(const Policy& policy, const Leaf& leaf, double temperature, const ColumnGradient& derivative, const GradientSink& sink) {
  const Policy::Packed& packed = policy.packed();
  expect_leaf(packed, leaf);
  expect(packed.weights != nullptr, "only a policy over weights is trained");
  expect(derivative.logprob.size() == leaf.targets.size() && derivative.entropy.size() == leaf.targets.size(), "the loss has a derivative for each column");
  if (leaf.targets.empty()) return {};
  TapeEngine engine(packed, leaf, sink);
  return engine.run(leaf, temperature, derivative);
}

void use_one_thread_per_operation() { at::set_num_threads(1); }

}  // namespace rollcall::model
