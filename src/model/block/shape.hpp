// The shape of a model: its tensors and its modules, without their values, and the parts in which it
// is trained. Names, order and modules come from one place, so that they cannot disagree.
#pragma once

#include "model/block/modules.hpp"
#include "model/config/model_config.hpp"

#include <cstddef>
#include <vector>

namespace rollcall::model {

/// A pure function of the config, so that it is the same on every rank. The pointers of its modules
/// are null.
struct ModelShape {
  std::vector<TensorSpec> tensors;  ///< by id
  TensorId embedding = kNoTensor;
  std::vector<Layer> layers;
  Norm final_norm;
  Linear head;  ///< has the embedding's tensor when the embeddings are tied
  std::vector<Rope> ropes;
};
ModelShape model_shape(const ModelConfig& config);

/// The parts of a model in the order in which a backward pass comes to them: the head, the final
/// norm, the blocks from the last to the first, and the embedding. A tied head and the embedding
/// are one tensor in two parts.
struct BackwardParts {
  std::vector<TensorRange> tensors;  ///< of each part
  // The number of each part:
  std::size_t head = 0, final_norm = 0, embedding = 0;
  std::vector<std::size_t> blocks;  ///< by block
};
BackwardParts backward_parts(const ModelShape& shape);

}  // namespace rollcall::model
