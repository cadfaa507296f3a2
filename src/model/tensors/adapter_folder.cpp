// Reads and writes folders with an adapter.
#include "model/tensors/adapter_folder.hpp"

#include "base/errors/error.hpp"
#include "base/files/file.hpp"
#include "base/text/joined.hpp"
#include "model/tensors/base_files.hpp"
#include "model/tensors/model_folder.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace rollcall::model {
namespace {

namespace fs = std::filesystem;

constexpr const char *kConfig = "adapter_config.json", *kWeights = "adapter_model.safetensors",
                     *kBaseDigest = "base_sha256",
                     *kCopy = "copy adapter_config.json and weights from the same adapter";

StoredAdapter read_stored(const fs::path& folder) {
  return read_adapter_config(read_file(folder / kConfig), (folder / kConfig).string());
}

/// Whether a name that is no folder looks like that of a model on a hub: "owner/name".
bool is_hub_name(const std::string& name) {
  const std::size_t slash = name.find('/');
  return slash != std::string::npos && slash > 0 && slash == name.rfind('/') &&
         slash + 1 < name.size() && name.front() != '.' && name.front() != '~';
}

fs::path find_base(const fs::path& folder, const std::string& named) {
  std::error_code unknown;
  for (const fs::path& place : {fs::path(named), (folder / "..").lexically_normal() / named}) {
    if (!fs::is_directory(place, unknown)) continue;
    require<InputError>(!is_adapter_folder(place),
                        fmt::format("{} names {} as its base, which is an adapter too",
                                    (folder / kConfig).string(), named),
                        "an adapter changes the weights of a whole model",
                        "export that adapter merged, and write the new folder's path there");
    return place;
  }
  throw InputError(error_message(
      fmt::format("{} names {} as its base, and there is no such folder",
                  (folder / kConfig).string(), named),
      is_hub_name(named) ? "models of a hub are not downloaded"
                         : "an adapter is a change of the weights of that model",
      is_hub_name(named)
          ? "download it and write its path there, under base_model_name_or_path"
          : "write the path of that model's folder there, under base_model_name_or_path"));
}

void check_tensors(const WeightLayout& layout, const SafetensorsFile& file) {
  std::vector<std::string> missing, unknown;
  std::set<std::string> wanted;
  for (const Slice& slice : layout.slices) {
    wanted.insert(slice.name);
    if (!file.tensors().contains(slice.name)) missing.push_back(slice.name);
  }
  for (const auto& [name, tensor] : file.tensors())
    if (!wanted.contains(name)) unknown.push_back(name);
  const auto first_of = [](const std::vector<std::string>& names) {
    return names.size() <= 1 ? joined(names, "")
                             : fmt::format("{} and {} more", names.front(), names.size() - 1);
  };
  require<InputError>(missing.empty(),
                      fmt::format("{} has no tensor {}", file.origin(), first_of(missing)),
                      "the adapter that adapter_config.json describes has it", kCopy);
  require<InputError>(
      unknown.empty(),
      fmt::format("{} has tensor {}, which the adapter of adapter_config.json does not have",
                  file.origin(), first_of(unknown)),
      "the model would be another one without it", kCopy);
  for (const Slice& slice : layout.slices) {
    const auto& shape = file.tensor(slice.name).shape;
    require<InputError>(
        shape == slice.shape,
        fmt::format("tensor {} of {} has shape [{}] where adapter and base ask for [{}]",
                    slice.name, file.origin(), fmt::join(shape, ","), fmt::join(slice.shape, ",")),
        "they do not belong together",
        "copy config and weights from the same adapter, and name the base that it was trained on");
  }
}

/// Compares the files of the base with what the adapter says of them, if it says anything.
void check_base(const SafetensorsFile& file, const WeightFiles& base) {
  const auto said = file.metadata().find(kBaseDigest);
  if (said == file.metadata().end()) return;
  const std::string found = files_sha256(base);
  require<InputError>(said->second == found,
                      fmt::format("{} was trained on a model with the {} {}, and {} has {}",
                                  file.origin(), kBaseDigest, said->second, base.origin(), found),
                      "on other weights the adapter is another model",
                      "name the base that it was trained on, under base_model_name_or_path");
}

}  // namespace

bool is_adapter_folder(const fs::path& folder) {
  return fs::exists(folder / kConfig);
}

fs::path base_folder(const fs::path& adapter) {
  return find_base(adapter, read_stored(adapter).base);
}

ModelConfig read_adapted_config(const fs::path& folder) {
  StoredAdapter stored = read_stored(folder);
  ModelConfig config = read_folder_config(find_base(folder, stored.base));
  config.adapter = std::move(stored.config);
  check_adapter(config, (folder / kConfig).string());
  return config;
}

void require_adapter_weights(const fs::path& folder) {
  require<InputError>(
      !has_weights(folder),
      fmt::format("{} has {} and the weights of a whole model", folder.string(), kConfig),
      "it is not known whether the adapter or the whole model is meant",
      "keep them in folders of their own");
  require<InputError>(
      fs::exists(folder / kWeights), fmt::format("{} has no {}", folder.string(), kWeights),
      "the adapter's weights are read from it",
      "save the adapter with save_pretrained() of PEFT, which writes safetensors by default");
}

AdapterFolder open_adapter(const fs::path& folder) {
  ModelConfig config = read_adapted_config(folder);
  require_adapter_weights(folder);
  SafetensorsFile file = SafetensorsFile::map(folder / kWeights);
  check_tensors(adapter_layout(config), file);
  auto base = shared_files(base_folder(folder));
  check_base(file, *base);
  return {std::move(config), std::move(base), WeightFiles(std::move(file))};
}

AdapterValues read_adapter(const AdapterFolder& adapter) {
  const WeightLayout layout = adapter_layout(adapter.config);
  AlignedFloats values{std::size_t(layout.size)};
  for (const Slice& slice : layout.slices) {
    const auto into = values.span().subspan(std::size_t(slice.offset), std::size_t(slice.count));
    const SafetensorsFile& file = *adapter.files.tensors().at(slice.name);
    file.widen(slice.name, 0, into);
    require<InputError>(
        std::all_of(into.begin(), into.end(), [](float value) { return std::isfinite(value); }),
        fmt::format("tensor {} of {} holds a value that is not finite", slice.name, file.origin()),
        "the model would give no probabilities", "copy the file again, or name an earlier one");
  }
  return {adapter.config, std::move(values)};
}

void write_adapter_folder(const fs::path& folder, const ModelConfig& config,
                          std::span<const float> trained, const fs::path& base) {
  const WeightLayout layout = adapter_layout(config);
  expect(std::int64_t(trained.size()) == layout.size, "values fill their layout");
  const std::map<std::string, std::string> metadata{
      {kBaseDigest, files_sha256(*shared_files(base))}};
  make_folder(folder);
  write_file_atomic(folder / kWeights, to_model_safetensors(layout, trained, metadata));
  write_file_atomic(
      folder / kConfig,
      to_adapter_config_json({config.adapter, fs::absolute(base).lexically_normal().string()}));
}

}  // namespace rollcall::model
