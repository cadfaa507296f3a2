// Reads the index and the files of a model, and compares them.
#include "model/tensors/weight_files.hpp"

#include "base/errors/error.hpp"
#include "base/errors/nearest.hpp"
#include "base/files/file.hpp"
#include "base/numbers/hash.hpp"
#include "base/text/foreign_json.hpp"
#include "model/tensors/adapter_folder.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace rollcall::model {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSingle = "model.safetensors";
constexpr const char* kIndex = "model.safetensors.index.json";
constexpr const char* kCopy = "copy or download index and files again";

}  // namespace

ShardIndex parse_shard_index(const std::string& text, const std::string& origin) {
  const auto check = [&](bool ok, const std::string& fault) {
    require<InputError>(ok, fmt::format("{}: {}", origin, fault), "it says where the weights are",
                        kCopy);
  };
  std::string fault;
  const auto json = parse_foreign<nlohmann::json>(text, fault);
  check(fault.empty(), fault);
  check(json.contains("weight_map") && json.at("weight_map").is_object() &&
            !json.at("weight_map").empty(),
        "it has no table \"weight_map\"");
  ShardIndex index;
  for (const auto& [tensor, file] : json.at("weight_map").items()) {
    check(file.is_string(), fmt::format("tensor {} has no file name", tensor));
    const auto name = file.get<std::string>();
    // Any other name would lead out of the folder.
    const bool plain = name.find('/') == std::string::npos &&
                       name.find('\0') == std::string::npos && !name.starts_with('.') &&
                       name.ends_with(".safetensors");
    check(plain, fmt::format(
                     "tensor {} is said to be in \"{}\", which is not a safetensors file beside it",
                     tensor, name));
    index.emplace(tensor, name);
  }
  return index;
}

WeightFiles::WeightFiles(SafetensorsFile file) : origin_(file.origin()) {
  const auto& kept = files_.emplace(kSingle, std::move(file)).first->second;
  for (const auto& [tensor, view] : kept.tensors()) tensors_.emplace(tensor, &kept);
}

bool has_weights(const fs::path& folder) {
  return fs::exists(folder / kSingle) || fs::exists(folder / kIndex);
}

void require_weights(const fs::path& folder) {
  const bool is_adapter = is_adapter_folder(folder);
  require<InputError>(has_weights(folder),
                      fmt::format("{} has neither {} nor {}", folder.string(), kSingle, kIndex),
                      is_adapter ? "it is an adapter, and the weights of a whole model are needed"
                                 : "the weights are read from them",
                      is_adapter
                          ? "merge it with rollcall export, and name the folder that it writes"
                          : "name a folder with weights in safetensors files");
}

WeightFiles WeightFiles::open(const fs::path& folder) {
  if (fs::exists(folder / kSingle)) return WeightFiles(SafetensorsFile::map(folder / kSingle));
  require_weights(folder);
  const ShardIndex index =
      parse_shard_index(read_file(folder / kIndex), (folder / kIndex).string());
  WeightFiles files;
  files.origin_ = (folder / kIndex).string();
  for (const auto& [tensor, name] : index) {
    if (files.files_.contains(name)) continue;
    require<InputError>(fs::exists(folder / name),
                        fmt::format("{} names {}, which does not exist", files.origin_, name),
                        fmt::format("it holds the tensor {}", tensor), kCopy);
    files.files_.emplace(name, SafetensorsFile::map(folder / name));
  }
  for (const auto& [name, file] : files.files_) files.add(file, index, name);
  for (const auto& [tensor, name] : index) {
    require<InputError>(files.tensors_.contains(tensor),
                        fmt::format("{} says that {} holds tensor {}, which it does not",
                                    files.origin_, name, tensor),
                        "the model cannot be built without it", kCopy);
  }
  return files;
}

/// Adds the tensors of `file`, which is called `name`. Each must be in the file that the index
/// says.
void WeightFiles::add(const SafetensorsFile& file, const ShardIndex& index,
                      const std::string& name) {
  for (const auto& [tensor, view] : file.tensors()) {
    const auto said = index.find(tensor);
    if (said == index.end() && is_harmless_buffer(tensor)) continue;
    require<InputError>(
        said != index.end(),
        fmt::format("{} holds tensor {}, which {} does not name", file.origin(), tensor, origin_),
        "index and files do not belong together", kCopy);
    require<InputError>(said->second == name,
                        fmt::format("{} holds tensor {}, which {} says is in {}", file.origin(),
                                    tensor, origin_, said->second),
                        "it is not known which of the two is meant", kCopy);
    tensors_.emplace(tensor, &file);
  }
}

std::string files_sha256(const WeightFiles& files) {
  Sha256 digest;
  for (const auto& [name, file] : files.tensors()) {
    const TensorView& tensor = file->tensor(name);
    digest.add(fmt::format("{} {} [{}] ", name, int(tensor.dtype), fmt::join(tensor.shape, ",")))
        .add(tensor.bytes);
  }
  return digest.hex();
}

bool is_harmless_buffer(const std::string& tensor) {
  return tensor.ends_with("rotary_emb.inv_freq");
}

}  // namespace rollcall::model
