// A model folder as Hugging Face lays it out: config.json, and model.safetensors or shards with an
// index. What reads one also reads the folder of an adapter, whose matrices it merges into those of
// its base.
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
/// unknown tensor, wrong shape; for an adapter also what open_adapter() and read_adapter() refuse.
LoadedModel read_model_folder(const std::filesystem::path& folder);
/// The same for a model that will be run. Also throws InputError if a weight is not finite, naming
/// its file and tensor.
LoadedModel read_finite_model(const std::filesystem::path& folder);

/// The folder's model for forward passes only. It is packed directly from the files, without fp32
/// weights in memory. Throws as read_finite_model does.
PolicyModel read_policy(const std::filesystem::path& folder,
                        const kernels::KernelSet* kernels = nullptr, const Threads& threads = {});
/// A model for forward passes only, from files that also hold the tensors `beside`, which are not
/// part of the model.
PolicyModel read_policy(const ModelConfig& config, const WeightFiles& files,
                        const std::set<std::string>& beside, const kernels::KernelSet* kernels,
                        const Threads& threads);

/// config.json, with the end tokens of generation_config.json if there is one. Of an adapter, those
/// of its base.
ModelConfig read_folder_config(const std::filesystem::path& folder);

/// The type that config.json gives for the stored weights ("bfloat16"): its key dtype, or
/// torch_dtype before transformers 5. Empty if it has neither. Of an adapter, the type of its base.
std::string stored_dtype(const std::filesystem::path& folder);

/// Throws InputError if the folder has no weights, or an adapter's folder or its base has none.
void require_model_weights(const std::filesystem::path& folder);

/// SHA-256 of the folder's weights as they are stored: files_sha256(); of an adapter, a digest of
/// its own files, its scale and the files of its base.
std::string folder_sha256(const std::filesystem::path& folder);

/// Throws InputError if a file's tensors are not those of `config` by name and shape.
void check_model_files(const ModelConfig& config, const WeightFiles& files);

/// The weights of `config` in fp32. Tensors in F32, BF16 or F16 are converted from the mapped files
/// one at a time. Every tensor of the files must belong to the model or be a known buffer that no
/// model reads, because a model without one of its weights would be another model.
AlignedFloats read_weights(const ModelConfig& config, const WeightFiles& files);

/// The weights of `config` in fp32, from one safetensors file.
AlignedFloats read_weights(const ModelConfig& config, const std::filesystem::path& file);
/// Reads the weights of one safetensors file into existing memory [layout size]. If the file is
/// refused for a name or a shape, the memory is unchanged.
void read_weights(const ModelConfig& config, const std::filesystem::path& file,
                  std::span<float> into);

/// The tensors of model.safetensors for these weights, and the metadata that transformers requires.
std::vector<TensorView> weight_tensors(const WeightLayout& layout, std::span<const float> weights);
const std::map<std::string, std::string>& model_metadata();

/// The bytes of model.safetensors for these weights. `metadata` is added to the entry that
/// transformers requires.
std::string to_model_safetensors(const WeightLayout& layout, std::span<const float> weights,
                                 const std::map<std::string, std::string>& metadata = {});

/// How weights are stored: as fp32, or rounded to the nearest BF16 with ties to even.
struct FolderFormat {
  Dtype dtype = Dtype::f32;  ///< f32 or bf16
  std::map<std::string, std::string> metadata;
};

/// Writes config.json and model.safetensors, each of them atomically. The weights are written one
/// tensor at a time.
void write_model_folder(const std::filesystem::path& folder, const ModelConfig& config,
                        std::span<const float> weights, const FolderFormat& format = {});

}  // namespace rollcall::model
