// Model folders in and out.
#include "model/model_folder.hpp"

#include "base/error.hpp"
#include "base/file.hpp"
#include "model/safetensors.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace rollcall::model {

LoadedModel read_model_folder(const std::filesystem::path& folder) {
  const std::filesystem::path config_file = folder / "config.json";
  LoadedModel model;
  model.config = read_model_config(read_file(config_file), config_file.string());
  model.weights = read_weights(model.config, folder / "model.safetensors");
  return model;
}

namespace {

std::vector<float> weights_of(const ModelConfig& config, const SafetensorsFile& file, const std::string& origin) {
  const WeightLayout layout = weight_layout(config);
  std::vector<float> weights(std::size_t(layout.size), 0.0F);
  for (const Slice& slice : layout.slices) {
    const TensorView& tensor = file.tensor(slice.name);
    require<InputError>(tensor.shape == slice.shape,
                        fmt::format("tensor {} of {} has shape [{}] where config.json asks for [{}]", slice.name, origin, fmt::join(tensor.shape, ","),
                                    fmt::join(slice.shape, ",")),
                        "the two files do not belong together", "copy both from the same model");
    const std::vector<float> values = file.floats(slice.name);
    std::copy(values.begin(), values.end(), weights.begin() + slice.offset);
  }
  return weights;
}

}  // namespace

std::vector<float> read_weights(const ModelConfig& config, const std::filesystem::path& safetensors) {
  require<InputError>(std::filesystem::exists(safetensors), fmt::format("{} does not exist", safetensors.string()), "the weights are read from one file",
                      "merge a model that is split into several files");
  return weights_of(config, SafetensorsFile::read(safetensors), safetensors.string());
}

std::vector<float> parse_weights(const ModelConfig& config, const std::string& bytes, const std::string& origin) {
  return weights_of(config, SafetensorsFile::parse(bytes, origin), origin);
}

std::vector<TensorView> weight_tensors(const WeightLayout& layout, std::span<const float> weights) {
  std::vector<TensorView> tensors;
  for (const Slice& slice : layout.slices) {
    const auto values = weights.subspan(std::size_t(slice.offset), std::size_t(slice.count));
    tensors.push_back({slice.name, Dtype::f32, slice.shape, std::as_bytes(values)});
  }
  return tensors;
}

const std::map<std::string, std::string>& model_metadata() {
  static const std::map<std::string, std::string> metadata{{"format", "pt"}};  // transformers insists on it
  return metadata;
}

std::string to_model_safetensors(const WeightLayout& layout, std::span<const float> weights) {
  return to_safetensors(weight_tensors(layout, weights), model_metadata());
}

void write_model_folder(const std::filesystem::path& folder, const ModelConfig& config, std::span<const float> weights) {
  make_folder(folder);
  write_file_atomic(folder / "config.json", to_config_json(config));
  write_file_atomic(folder / "model.safetensors", to_model_safetensors(weight_layout(config), weights));
}

}  // namespace rollcall::model
