// Private to the model: the attention of a block, forward and backward, for every engine.
#pragma once

#include "model/block/engine.hpp"

namespace rollcall::model {

/// What attention computes, in order. If the engine keeps these rows, the backward pass reads them.
template <class Rows>
struct AttentionRows {
  Rows normed;            ///< [n, hidden] what attention reads
  Rows q_plain, k_plain;  ///< q and k before the norms of single heads; q and k without such norms
  Rows q, k, v;
  Rows attended;
  Rows out;  ///< [n, hidden] after the residual add
};

/// x + attention of `normed`, both [n, hidden] (Llama: Touvron et al. 2023; norms of single heads:
/// Qwen3; without rotary embeddings: SmolLM3). `layer`: where the engine keeps keys and values.
template <ForwardEngine E>
AttentionRows<typename E::Rows> attention_forward(E& engine, const AttentionModule& attention,
                                                  std::size_t layer, typename E::Rows x,
                                                  typename E::Rows normed) {
  AttentionRows<typename E::Rows> rows{};
  rows.normed = normed;
  const auto [q, k, v] = engine.linear(normed, attention.q, attention.k, attention.v);
  rows.q = rows.q_plain = q, rows.k = rows.k_plain = k, rows.v = v;
  if (attention.q_norm) {
    rows.q = engine.rms_norm(q, attention.q_norm);
    rows.k = engine.rms_norm(k, attention.k_norm);
  }
  if (attention.rope >= 0)
    engine.rope(rows.q, attention.rope, +1), engine.rope(rows.k, attention.rope, +1);
  rows.attended = engine.attention(layer, rows.q, rows.k, rows.v);
  rows.out = engine.add_linear(x, rows.attended, attention.o);
  return rows;
}

/// The gradient with respect to `normed`, from that with respect to `out`. The residual is not part
/// of it.
template <BackwardEngine G>
typename G::Rows attention_backward(G& engine, const AttentionModule& attention,
                                    const AttentionRows<typename G::Rows>& rows,
                                    typename G::Rows dout) {
  using Product = Through<typename G::Rows>;
  const auto dattended = engine.linears(rows.attended, std::array{Product{attention.o, dout}});
  Heads<typename G::Rows> d = engine.attention({rows.q, rows.k, rows.v}, dattended);
  if (attention.rope >= 0)
    engine.rope(d.q, attention.rope, -1), engine.rope(d.k, attention.rope, -1);
  if (attention.q_norm) {
    d.q = engine.norm(attention.q_norm, engine.rows(), rows.q_plain, d.q);
    d.k = engine.norm(attention.k_norm, engine.rows(), rows.k_plain, d.k);
  }
  return engine.linears(
      rows.normed,
      std::array{Product{attention.q, d.q}, Product{attention.k, d.k}, Product{attention.v, d.v}});
}

}  // namespace rollcall::model
