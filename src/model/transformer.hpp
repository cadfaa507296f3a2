// Private to the model: the transformer of the Llama family, written once for generation and training.
#pragma once

#include "model/packed_policy.hpp"

namespace rollcall::model {

/// Pre-norm decoder blocks (Llama: Touvron et al. 2023; per-head norms: Qwen3; layers without rotary embeddings: SmolLM3) over packed rows x [n, hidden]; returns the last block's output.
/// `Engine` supplies the operations: Backend on scratch memory (generation, scoring), TapeEngine on ATen tensors with autograd (training). Both call the
/// same kernels on the same operands, so their bits agree. A residual `add` is where an engine may drop all rows but its result.
template <class Engine>
typename Engine::Rows run_blocks(Engine& engine, const Policy::Packed& policy, typename Engine::Rows x) {
  for (std::size_t i = 0; i < policy.layers.size(); ++i) {
    const Layer& layer = policy.layers[i];
    auto h = engine.rms_norm(x, layer.input_norm);
    auto [q, k, v] = engine.linear(h, layer.q, layer.k, layer.v);
    if (policy.config.qk_norm) {
      q = engine.rms_norm(q, layer.q_norm);
      k = engine.rms_norm(k, layer.k_norm);
    }
    if (policy.config.has_rope(std::int64_t(i))) {
      q = engine.rope(q);
      k = engine.rope(k);
    }
    x = engine.add(x, engine.linear(engine.attention(i, q, k, v), layer.o)[0]);
    h = engine.rms_norm(x, layer.post_attention_norm);
    const auto [gate, up] = engine.linear(h, layer.gate, layer.up);
    x = engine.add(x, engine.linear(engine.swiglu(gate, up), layer.down)[0]);
  }
  return x;
}

}  // namespace rollcall::model
