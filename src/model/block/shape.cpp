// Goes once through a model and describes each module.
#include "model/block/shape.hpp"

#include "model/block/describe.hpp"

#include <fmt/format.h>

namespace rollcall::model {

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
    layer.mlp_in = add.norm(prefix + "post_attention_layernorm", config.hidden_size);
    layer.mlp = describe_mlp(add, config, prefix);
  }
  shape.final_norm = add.norm("model.norm", config.hidden_size);
  shape.head.outputs = config.vocab_size;
  shape.head.inputs = config.hidden_size;
  shape.head.weight = config.tie_word_embeddings ? shape.embedding
                                                 : add.matrix("lm_head.weight", config.vocab_size,
                                                              config.hidden_size, false);
  shape.tensors = add.take();
  return shape;
}

}  // namespace rollcall::model
