// Private to the model: the backward pass of the head, written once for the host and a device, and
// the order in which the embedding's gradient is summed.
#pragma once

#include "model/block/engine.hpp"
#include "model/engine/packed_policy.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace rollcall::model {

/// Tokens of the vocabulary whose logit gradients exist at a time.
inline constexpr std::int64_t kHeadOutputs = 2048;

/// What head_backward asks of an engine beside the operations of blocks. begin() takes dx() and
/// what else stays for a pass with so many targets. gather() copies rows of `hidden` [n, hidden],
/// and scatter() makes dx() the sum of d [M, hidden] by row, in the order of the targets: a row
/// that ends a sequence predicts the first tokens of all sequences that continue it. head() makes
/// what states_backward needs; it does not need begin().
template <class G>
concept HeadEngine = BackwardEngine<G> &&
    requires(G& engine, typename G::Rows d, const float* hidden, std::int64_t targets,
             const typename G::Predictions& of) {
  engine.begin(targets);
  { engine.head(of).states() } -> std::same_as<typename G::Rows>;
  { engine.gather(hidden, of.rows) } -> std::same_as<typename G::Rows>;
  engine.scatter(d, of.rows);
};

/// The gradient with respect to the head's inputs, [M, hidden] for M predictions. A row's bits
/// depend on that row only. It stays until the end of the engine's current scope. The engine's
/// head() computes with some outputs of the head at a time, and sums their gradients.
template <HeadEngine G>
typename G::Rows states_backward(G& engine, const Linear& head,
                                 const typename G::Predictions& predictions) {
  auto pass = engine.head(predictions);
  for (std::int64_t first = 0; first < head.outputs; first += kHeadOutputs) {
    const Linear some = pass.outputs(first, std::min(kHeadOutputs, head.outputs - first));
    pass.logit_gradients(some, first);
    pass.weights(some, first);
    pass.add_inputs(some);
  }
  return pass.states();
}

/// Begins a backward pass: makes engine.dx() the gradient with respect to `hidden` [n, hidden], the
/// last block's output.
template <HeadEngine G>
void head_backward(G& engine, const PolicyModel::Packed& policy, const float* hidden,
                   const typename G::Predictions& predictions) {
  const auto targets = std::int64_t(predictions.rows.size());
  engine.begin(targets);
  const auto scope = engine.scope();
  typename G::Rows d{};
  engine.part(policy.backward_parts.head,
              [&] { d = states_backward(engine, policy.head, predictions); });
  const typename G::Rows last = engine.gather(hidden, predictions.rows);
  engine.part(policy.backward_parts.final_norm,
              [&] { d = engine.norm(policy.final_norm, targets, last, d); });
  engine.scatter(d, predictions.rows);
}

/// The rows of each token, in ascending order. Their gradients are summed in this order.
struct TokenGroups {
  std::vector<std::int32_t> tokens;  ///< distinct, ascending
  std::vector<std::int32_t> begin;   ///< [tokens + 1] where the rows of a token begin in `rows`
  std::vector<std::int64_t> rows;
};
TokenGroups token_groups(std::span<const std::int32_t> tokens);

}  // namespace rollcall::model
