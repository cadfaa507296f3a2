// Tensors as files of a checkpoint, without a copy of their bytes.
#pragma once

#include "base/files/file.hpp"
#include "model/engine/policy.hpp"
#include "model/tensors/safetensors.hpp"

#include <map>
#include <memory>
#include <span>
#include <string>

namespace rollcall::run {

/// A safetensors file that refers to the tensors' own bytes, which live as long as `owner`.
FileContent tensor_file(std::span<const model::TensorView> tensors,
                        const std::map<std::string, std::string>& metadata,
                        const std::shared_ptr<const void>& owner);

/// Weights in layout order as model.safetensors has them.
FileContent weights_file(const model::WeightLayout& layout,
                         const std::shared_ptr<const model::AlignedFloats>& weights);

}  // namespace rollcall::run
