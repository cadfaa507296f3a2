// Private to the model: a decoder block, written once for generation and training, on the host and
// on a device.
#pragma once

#include "model/block/attention.hpp"
#include "model/block/mlp.hpp"
#include "model/engine/packed_policy.hpp"

namespace rollcall::model {

/// What a block computes. The backward pass reads it.
template <class Rows>
struct BlockRows {
  Rows x;  ///< [n, hidden] the block's input
  AttentionRows<Rows> attention;
  MlpRows<Rows> mlp;

  Rows y() const { return mlp.out; }  ///< [n, hidden] the block's output
};

/// Pre-norm decoder block over packed rows x [n, hidden].
template <ForwardEngine E>
BlockRows<typename E::Rows> run_block(E& engine, const PolicyModel::Packed& policy, std::size_t i,
                                      typename E::Rows x) {
  const Layer& layer = policy.layers[i];
  const auto normed = engine.rms_norm(x, layer.attention_in);
  const auto attention = attention_forward(engine, layer.attention, i, x, normed);
  const auto middle_normed = engine.rms_norm(attention.out, layer.mlp_in);
  return {x, attention, mlp_forward(engine, layer.mlp, attention.out, middle_normed)};
}

/// Backpropagates through a block: engine.dx() is the gradient with respect to its output before,
/// and with respect to its input after it. Blocks must come from the last to the first.
template <BackwardEngine G>
void block_backward(G& engine, const PolicyModel::Packed& policy, std::size_t i,
                    const BlockRows<typename G::Rows>& rows) {
  const Layer& layer = policy.layers[i];
  engine.part(policy.backward_parts.blocks[i], [&] {
    {
      const auto scope = engine.scope();
      const auto dnormed = mlp_backward(engine, layer.mlp, rows.mlp, engine.dx());
      engine.norm_into_dx(layer.mlp_in, rows.attention.out, dnormed);
    }
    const auto scope = engine.scope();
    const auto dnormed = attention_backward(engine, layer.attention, rows.attention, engine.dx());
    engine.norm_into_dx(layer.attention_in, rows.x, dnormed);
  });
}

}  // namespace rollcall::model
