// Private to the model: describes each module of a block by its tensors.
#pragma once

#include "model/block/modules.hpp"
#include "model/config/model_config.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace rollcall::model {

/// Adds tensors to a model's table, and returns the modules that read them.
class ShapeBuilder {
 public:
  /// A matrix [rows, columns] of random initial values.
  TensorId matrix(const std::string& name, std::int64_t rows, std::int64_t columns, bool decay);
  Norm norm(const std::string& module, std::int64_t width);
  Linear linear(const std::string& module, std::int64_t outputs, std::int64_t inputs, bool bias);

  std::vector<TensorSpec> take() { return std::move(tensors_); }  ///< the table, at the end

 private:
  TensorId add(const std::string& name, std::vector<std::int64_t> shape, bool decay,
               Initial initial);

  std::vector<TensorSpec> tensors_;
};

/// `prefix`: of the block's tensors, for example "model.layers.0.".
AttentionModule describe_attention(ShapeBuilder& add, const ModelConfig& config,
                                   const std::string& prefix);
MlpModule describe_mlp(ShapeBuilder& add, const ModelConfig& config, const std::string& prefix);

}  // namespace rollcall::model
