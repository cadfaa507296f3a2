// Goes once through a model and describes each module.
#include "model/block/shape.hpp"

#include "model/block/describe.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rollcall::model {
namespace {

TensorRange tensors_of(const Layer& layer) {
  TensorRange all{layer.attention_in.weight, layer.attention_in.weight};
  const auto add = [&](TensorId tensor) {
    all = {std::min(all.first, tensor), std::max(all.last, tensor)};
  };
  each_linear(layer, [&](const Linear& linear) { add(linear.weight); });
  each_vector(layer, [&](const float*, std::int64_t, TensorId tensor) { add(tensor); });
  return all;
}

}  // namespace

ModelShape model_shape(const ModelConfig& config) {
  ModelShape shape;
  ShapeBuilder add;
  shape.embedding =
      add.matrix("model.embed_tokens.weight", config.vocab_size, config.hidden_size, false);
  for (std::int64_t i = 0; i < config.num_hidden_layers; ++i) {
    const std::string prefix = fmt::format("model.layers.{}.", i);
    Layer& layer = shape.layers.emplace_back();
    layer.attention_in = add.norm(prefix + "input_layernorm", config.hidden_size);
    layer.attention = describe_attention(add, config, prefix);
    layer.attention.rope = has_rope(config, i) ? 0 : -1;
    layer.mlp_in = add.norm(prefix + "post_attention_layernorm", config.hidden_size);
    layer.mlp = describe_mlp(add, config, prefix);
  }
  shape.final_norm = add.norm("model.norm", config.hidden_size);
  shape.head.outputs = config.vocab_size;
  shape.head.inputs = config.hidden_size;
  shape.head.weight = config.tie_word_embeddings ? shape.embedding
                                                 : add.matrix("lm_head.weight", config.vocab_size,
                                                              config.hidden_size, false);
  shape.ropes = {
      {config.rope_theta, config.head_dim, config.max_position_embeddings, config.rope_scaling}};
  shape.tensors = add.take();
  return shape;
}

BackwardParts backward_parts(const ModelShape& shape) {
  BackwardParts parts;
  const auto add = [&](TensorRange tensors) {
    parts.tensors.push_back(tensors);
    return parts.tensors.size() - 1;
  };
  parts.head = add({shape.head.weight, shape.head.weight});
  parts.final_norm = add({shape.final_norm.weight, shape.final_norm.weight});
  parts.blocks.resize(shape.layers.size());
  for (std::size_t i = shape.layers.size(); i-- > 0;)
    parts.blocks[i] = add(tensors_of(shape.layers[i]));
  parts.embedding = add({shape.embedding, shape.embedding});
  return parts;
}

}  // namespace rollcall::model
