// Private to the model: the MLP of a block, forward and backward, for every engine.
#pragma once

#include "model/block/engine.hpp"

namespace rollcall::model {

/// What an MLP computes, in order. If the engine keeps these rows, the backward pass reads them.
template <class Rows>
struct MlpRows {
  Rows normed;  ///< [n, hidden] what the MLP reads
  Rows gate, up, activated;
  Rows out;  ///< [n, hidden] after the residual add
};

/// x + MLP of `normed`, both [n, hidden] (SwiGLU: Shazeer 2020).
template <ForwardEngine E>
MlpRows<typename E::Rows> mlp_forward(E& engine, const MlpModule& mlp, typename E::Rows x,
                                      typename E::Rows normed) {
  MlpRows<typename E::Rows> rows{};
  rows.normed = normed;
  const auto [gate, up] = engine.linear(normed, mlp.gate, mlp.up);
  rows.gate = gate, rows.up = up;
  rows.activated = engine.swiglu(gate, up);
  rows.out = engine.add_linear(x, rows.activated, mlp.down);
  return rows;
}

/// The gradient with respect to `normed`, from that with respect to `out`. The residual is not part
/// of it.
template <BackwardEngine G>
typename G::Rows mlp_backward(G& engine, const MlpModule& mlp,
                              const MlpRows<typename G::Rows>& rows, typename G::Rows dout) {
  using Product = Through<typename G::Rows>;
  const auto dactivated = engine.linears(rows.activated, std::array{Product{mlp.down, dout}});
  const auto [dgate, dup] = engine.swiglu(rows.gate, rows.up, dactivated);
  return engine.linears(rows.normed, std::array{Product{mlp.gate, dgate}, Product{mlp.up, dup}});
}

}  // namespace rollcall::model
