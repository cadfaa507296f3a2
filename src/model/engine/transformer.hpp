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
  Rows normed;            ///< x after input_norm
  Rows q_plain, k_plain;  ///< q and k before the per-head norms; the same as q and k if there are
                          ///< no such norms
  Rows q, k, v;
  Rows attended;
  Rows middle;         ///< [n, hidden] after the residual add of attention
  Rows middle_normed;  ///< middle after post_attention_norm
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
  b.normed = engine.rms_norm(x, layer.input_norm);
  const auto [q, k, v] = engine.linear(b.normed, layer.q, layer.k, layer.v);
  b.q = b.q_plain = q, b.k = b.k_plain = k, b.v = v;
  if (policy.config.qk_norm) {
    b.q = engine.rms_norm(q, layer.q_norm);
    b.k = engine.rms_norm(k, layer.k_norm);
  }
  if (has_rope(policy.config, std::int64_t(i))) engine.rope(b.q, +1), engine.rope(b.k, +1);
  b.attended = engine.attention(i, b.q, b.k, b.v);
  b.middle = engine.add_linear(x, b.attended, layer.o);
  b.middle_normed = engine.rms_norm(b.middle, layer.post_attention_norm);
  const auto [gate, up] = engine.linear(b.middle_normed, layer.gate, layer.up);
  b.gate = gate, b.up = up;
  b.activated = engine.swiglu(gate, up);
  b.y = engine.add_linear(b.middle, b.activated, layer.down);
  return b;
}

}  // namespace rollcall::model
