// The modules of a model: the matrices and norms that its blocks consist of, and which tensors they
// read. In a shape their pointers are null; a policy points them to its weights.
#pragma once

#include "model/tensors/spec.hpp"

#include <cstdint>
#include <type_traits>

namespace rollcall::model {

/// A matrix W [outputs, inputs] with its bias. It exists in two forms: as packed panels for the
/// forward kernels, and row-major for the products of the backward pass. A policy without trained
/// weights has no row-major form.
struct Linear {
  std::int64_t outputs = 0, inputs = 0;
  TensorId weight = kNoTensor, bias_id = kNoTensor;
  int slices = 1;  ///< parts of the inputs that bf16_sliced8 sums separately; 8 for o and down
  const float *weight_rows = nullptr, *bias = nullptr;
  const void* panels = nullptr;

  bool has_bias() const { return bias_id != kNoTensor; }
};

/// The weights [width] of an RMSNorm over rows of this width. A norm that a model does not have has
/// width 0.
struct Norm {
  std::int64_t width = 0;
  TensorId weight = kNoTensor;
  const float* values = nullptr;

  explicit operator bool() const { return width > 0; }
};

struct AttentionModule {
  Linear q, k, v, o;
  Norm q_norm, k_norm;  ///< over each head, or absent
  int rope = -1;        ///< index of its rotary embedding in ModelShape::ropes; -1: none
};

struct MlpModule {
  Linear gate, up, down;
};

/// A decoder block.
struct Layer {
  Norm attention_in, mlp_in;  ///< of the rows that attention and the MLP read
  AttentionModule attention;
  MlpModule mlp;
};

/// A model, or its shape: blocks, final norm and head.
template <class M>
concept HasLayers = requires(M& model) {
  model.layers;
  model.final_norm;
  model.head;
};

/// Visits every norm and every Linear of a block in the order of their tensors, also absent norms.
/// This is the only list of them.
template <class L, class V>
void each_part(L& layer, const V& visit) {
  const auto all = [&](auto&... parts) { (visit(parts), ...); };
  auto& attention = layer.attention;
  auto& mlp = layer.mlp;
  all(layer.attention_in, attention.q, attention.k, attention.v, attention.o, attention.q_norm,
      attention.k_norm, layer.mlp_in, mlp.gate, mlp.up, mlp.down);
}
/// The same for a model, in which the blocks are followed by the final norm and the head.
template <HasLayers M, class V>
void each_part(M& model, const V& visit) {
  for (auto& layer : model.layers) each_part(layer, visit);
  visit(model.final_norm);
  visit(model.head);
}

template <class Part>
constexpr bool is_linear = std::is_same_v<std::remove_const_t<Part>, Linear>;

/// Visits every Linear of a block or of a model.
template <class M, class V>
void each_linear(M& model, const V& visit) {
  each_part(model, [&]<class Part>(Part& part) {
    if constexpr (is_linear<Part>) visit(part);
  });
}

/// Visits every norm and every bias of a block or of a model: visit(values, length, tensor), where
/// `values` is the pointer in the module.
template <class M, class V>
void each_vector(M& model, const V& visit) {
  each_part(model, [&]<class Part>(Part& part) {
    if constexpr (is_linear<Part>) {
      if (part.has_bias()) visit(part.bias, part.outputs, part.bias_id);
    } else {
      if (part) visit(part.values, part.width, part.weight);
    }
  });
}

}  // namespace rollcall::model
