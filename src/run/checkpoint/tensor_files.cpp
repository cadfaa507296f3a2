// Makes the header of a safetensors file. The data are written directly from the tensors.
#include "run/checkpoint/tensor_files.hpp"

#include "model/tensors/model_folder.hpp"

namespace rollcall::run {

FileContent tensor_file(std::span<const model::TensorView> tensors,
                        const std::map<std::string, std::string>& metadata,
                        const std::shared_ptr<const void>& owner) {
  FileContent content(model::safetensors_head(tensors, metadata));
  for (const auto& tensor : tensors) content.add(tensor.bytes, owner);
  return content;
}

FileContent weights_file(const model::WeightLayout& layout,
                         const std::shared_ptr<const model::AlignedFloats>& weights) {
  return tensor_file(model::weight_tensors(layout, weights->span()), model::model_metadata(),
                     weights);
}

}  // namespace rollcall::run
