// A model folder as Hugging Face lays it out: config.json, and model.safetensors or shards with an
// index.
#pragma once

#include "model/engine/policy.hpp"
#include "model/support/aligned_floats.hpp"
#include "model/tensors/weight_files.hpp"
#include "model/tensors/weights.hpp"

#include <filesystem>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace rollcall::model {

struct LoadedModel {
  ModelConfig config;
  AlignedFloats weights;  ///< layout order
};

/// Throws InputError naming the file and the fault: missing file, unsupported key, missing or
/// unknown tensor, other shape.
LoadedModel read_model_folder(const std::filesystem::path& folder);

/// The folder's model for forward passes alone, packed from the files as they stand, without fp32
/// weights beside it. Throws as read_model_folder.
PolicyModel read_policy(const std::filesystem::path& folder,
                        const kernels::KernelSet* kernels = nullptr, const Threads& threads = {});
/// The same of files whose tensors `beside` are no part of the model.
PolicyModel read_policy(const ModelConfig& config, const WeightFiles& files,
                        const std::set<std::string>& beside, const kernels::KernelSet* kernels,
                        const Threads& threads);

/// config.json, with the end tokens of generation_config.json where there is one.
ModelConfig read_folder_config(const std::filesystem::path& folder);

/// What config.json says the weights are stored as: its dtype, or torch_dtype before transformers 5
/// ("bfloat16"). Empty where it does not say.
std::string stored_dtype(const std::filesystem::path& folder);

/// Throws InputError where a file's tensors are not those of `config` by name and shape.
void check_model_files(const ModelConfig& config, const WeightFiles& files);

/// Weights of `config`; F32, BF16 and F16 are widened from the mapped files into their place, one
/// tensor at a time. Every tensor of the files must be the model's (or a known buffer that nothing
/// reads): a weight that was passed over would leave another model.
AlignedFloats read_weights(const ModelConfig& config, const WeightFiles& files);

/// The same of one safetensors file.
AlignedFloats read_weights(const ModelConfig& config, const std::filesystem::path& file);
/// Over weights that are there already [layout size]: nothing is written when the file is refused
/// for a name or a shape.
void read_weights(const ModelConfig& config, const std::filesystem::path& file,
                  std::span<float> into);

/// The tensors of model.safetensors for these weights, and the metadata that transformers asks for.
std::vector<TensorView> weight_tensors(const WeightLayout& layout, std::span<const float> weights);
const std::map<std::string, std::string>& model_metadata();

/// The bytes of model.safetensors for these weights. `metadata` joins the entry that transformers
/// asks for.
std::string to_model_safetensors(const WeightLayout& layout, std::span<const float> weights,
                                 const std::map<std::string, std::string>& metadata = {});

/// How weights leave: as they are, or rounded to the nearest BF16, ties to even.
struct FolderFormat {
  Dtype dtype = Dtype::f32;  ///< or bf16
  std::map<std::string, std::string> metadata;
};

/// Writes config.json and model.safetensors, each atomically; the weights go to the file one tensor
/// at a time.
void write_model_folder(const std::filesystem::path& folder, const ModelConfig& config,
                        std::span<const float> weights, const FolderFormat& format = {});

}  // namespace rollcall::model
