// Private to the model: the transformer of the Llama family, written once for generation and
// training.
#pragma once

#include "model/engine/packed_policy.hpp"

namespace rollcall::model {

/// What a block computes, in order. If the engine keeps the rows of a block, the backward pass
/// reads them.
template <class Rows>
struct BlockRows {
  Rows x;                 ///< [n, hidden] the block's input
  Rows normed;            ///< x after attention_in
  Rows q_plain, k_plain;  ///< q and k before the norms of single heads; q and k without such norms
  Rows q, k, v;
  Rows attended;
  Rows middle;         ///< [n, hidden] after the residual add of attention
  Rows middle_normed;  ///< middle after mlp_in
  Rows gate, up, activated;
  Rows y;  ///< [n, hidden] the block's output
};

/// Pre-norm decoder block (Llama: Touvron et al. 2023; per-head norms: Qwen3; layers without rotary
/// embeddings: SmolLM3) over packed rows x [n, hidden]. `Engine` supplies the operations. Its
/// rope() works in place. At each residual add_linear() it may give back all rows except the
/// result.
template <class Engine>
BlockRows<typename Engine::Rows> run_block(Engine& engine, const PolicyModel::Packed& policy,
                                           std::size_t i, typename Engine::Rows x) {
  const Layer& layer = policy.layers[i];
  BlockRows<typename Engine::Rows> b{};
  b.x = x;
  b.normed = engine.rms_norm(x, layer.attention_in);
  const auto [q, k, v] =
      engine.linear(b.normed, layer.attention.q, layer.attention.k, layer.attention.v);
  b.q = b.q_plain = q, b.k = b.k_plain = k, b.v = v;
  if (layer.attention.q_norm) {
    b.q = engine.rms_norm(q, layer.attention.q_norm);
    b.k = engine.rms_norm(k, layer.attention.k_norm);
  }
  if (const int rope = layer.attention.rope; rope >= 0)
    engine.rope(b.q, rope, +1), engine.rope(b.k, rope, +1);
  b.attended = engine.attention(i, b.q, b.k, b.v);
  b.middle = engine.add_linear(x, b.attended, layer.attention.o);
  b.middle_normed = engine.rms_norm(b.middle, layer.mlp_in);
  const auto [gate, up] = engine.linear(b.middle_normed, layer.mlp.gate, layer.mlp.up);
  b.gate = gate, b.up = up;
  b.activated = engine.swiglu(gate, up);
  b.y = engine.add_linear(b.middle, b.activated, layer.mlp.down);
  return b;
}

}  // namespace rollcall::model
