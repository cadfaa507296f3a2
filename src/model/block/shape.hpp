// The shape of a model: its tensors and its modules, without their values. Names, order and modules
// come from one place, so that they cannot disagree.
#pragma once

#include "model/block/modules.hpp"
#include "model/config/model_config.hpp"

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
};
ModelShape model_shape(const ModelConfig& config);

}  // namespace rollcall::model
