// Names, shapes and order of the tensors of each module.
#include "model/block/describe.hpp"

#include <utility>

namespace rollcall::model {
namespace {

/// The parts in which bf16_sliced8 sums the inputs of o and down.
constexpr int kSlices = 8;

}  // namespace

TensorId ShapeBuilder::add(const std::string& name, std::vector<std::int64_t> shape, bool decay,
                           Initial initial) {
  const TensorId id{tensors_.size()};
  tensors_.push_back({id, name, std::move(shape), decay, initial});
  return id;
}

TensorId ShapeBuilder::matrix(const std::string& name, std::int64_t rows, std::int64_t columns,
                              bool decay) {
  return add(name, {rows, columns}, decay, Initial::normal);
}

Norm ShapeBuilder::norm(const std::string& module, std::int64_t width) {
  return {width, add(module + ".weight", {width}, false, Initial::ones)};
}

Linear ShapeBuilder::linear(const std::string& module, std::int64_t outputs, std::int64_t inputs,
                            bool bias) {
  Linear made{outputs, inputs, matrix(module + ".weight", outputs, inputs, true)};
  if (bias) made.bias_id = add(module + ".bias", {outputs}, false, Initial::zeros);
  return made;
}

AttentionModule describe_attention(ShapeBuilder& add, const ModelConfig& c,
                                   const std::string& prefix) {
  const std::string name = prefix + "self_attn.";
  const std::int64_t q_width = c.num_attention_heads * c.head_dim,
                     kv_width = c.num_key_value_heads * c.head_dim;
  AttentionModule attention;
  attention.q = add.linear(name + "q_proj", q_width, c.hidden_size, c.attention_bias);
  attention.k = add.linear(name + "k_proj", kv_width, c.hidden_size, c.attention_bias);
  attention.v = add.linear(name + "v_proj", kv_width, c.hidden_size, c.attention_bias);
  attention.o = add.linear(name + "o_proj", c.hidden_size, q_width, c.output_bias);
  attention.o.slices = kSlices;
  if (c.qk_norm) {
    attention.q_norm = add.norm(name + "q_norm", c.head_dim);
    attention.k_norm = add.norm(name + "k_norm", c.head_dim);
  }
  return attention;
}

MlpModule describe_mlp(ShapeBuilder& add, const ModelConfig& c, const std::string& prefix) {
  const std::string name = prefix + "mlp.";
  MlpModule mlp;
  mlp.gate = add.linear(name + "gate_proj", c.intermediate_size, c.hidden_size, c.mlp_bias);
  mlp.up = add.linear(name + "up_proj", c.intermediate_size, c.hidden_size, c.mlp_bias);
  mlp.down = add.linear(name + "down_proj", c.hidden_size, c.intermediate_size, c.mlp_bias);
  mlp.down.slices = kSlices;
  return mlp;
}

}  // namespace rollcall::model
