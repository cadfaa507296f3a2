// A folder with a LoRA adapter as PEFT lays it out: adapter_config.json, which names the folder of
// the model that it changes, and adapter_model.safetensors.
#pragma once

#include "model/tensors/adapter_tensors.hpp"
#include "model/tensors/weight_files.hpp"

#include <filesystem>
#include <memory>
#include <span>

namespace rollcall::model {

/// Whether a folder has an adapter_config.json. Throws std::filesystem::filesystem_error if the file
/// system does not say.
bool is_adapter_folder(const std::filesystem::path& folder);

/// The folder of the model that an adapter changes, its base: the path that adapter_config.json
/// names, or that path from the folder in which the adapter lies. Throws InputError as
/// read_adapter_config() does, and if there is no such folder or if it is an adapter itself.
std::filesystem::path base_folder(const std::filesystem::path& adapter);

/// The config of the base with the adapter, without any weights. Throws InputError as base_folder()
/// and check_adapter() do, and for what is wrong in the base's config.json.
ModelConfig read_adapted_config(const std::filesystem::path& folder);

/// Throws InputError if the folder has no adapter_model.safetensors, or whole weights beside it.
void require_adapter_weights(const std::filesystem::path& folder);

struct AdapterFolder {
  ModelConfig config;  ///< of the base, with the adapter
  std::shared_ptr<const WeightFiles> base;
  WeightFiles files;  ///< the adapter's own
};
/// Opens the files of an adapter and of its base. Throws InputError as read_adapted_config() and
/// WeightFiles::open() do, if the tensors of the adapter are not those of its config by name and
/// shape, and if it states another base_sha256 than the files of its base have.
AdapterFolder open_adapter(const std::filesystem::path& folder);

/// A and B in fp32. Throws InputError naming a tensor with a value that is not finite.
AdapterValues read_adapter(const AdapterFolder& adapter);

/// Writes the two files of an adapter, each of them atomically. `trained`: its values in the order
/// of adapter_layout(config). The weights' metadata have base_sha256, the files_sha256() of the
/// model in `base`, so that the adapter is not read on another one.
void write_adapter_folder(const std::filesystem::path& folder, const ModelConfig& config,
                          std::span<const float> trained, const std::filesystem::path& base);

}  // namespace rollcall::model
