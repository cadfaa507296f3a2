// A model folder as Hugging Face lays it out: config.json and model.safetensors.
#pragma once

#include "model/safetensors.hpp"
#include "model/weights.hpp"

#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace rollcall::model {

struct LoadedModel {
  ModelConfig config;
  std::vector<float> weights;  ///< layout order
};

/// Throws InputError naming the file and the fault: missing file, unsupported architecture, missing tensor, other shape.
LoadedModel read_model_folder(const std::filesystem::path& folder);

/// Weights of `config` from one safetensors file; F32, BF16 and F16 are widened.
std::vector<float> read_weights(const ModelConfig& config, const std::filesystem::path& safetensors);

/// The same from the bytes of such a file; `origin` is named in messages.
std::vector<float> parse_weights(const ModelConfig& config, const std::string& bytes, const std::string& origin);

/// The tensors of model.safetensors for these weights, and its head's metadata.
std::vector<TensorView> weight_tensors(const WeightLayout& layout, std::span<const float> weights);
const std::map<std::string, std::string>& model_metadata();

/// The bytes of model.safetensors for these weights.
std::string to_model_safetensors(const WeightLayout& layout, std::span<const float> weights);

/// Writes both files, each atomically.
void write_model_folder(const std::filesystem::path& folder, const ModelConfig& config, std::span<const float> weights);

}  // namespace rollcall::model
