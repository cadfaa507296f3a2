// Reads and writes model folders.
#include "model/tensors/model_folder.hpp"

#include "base/errors/error.hpp"
#include "base/files/file.hpp"
#include "base/numbers/hash.hpp"
#include "base/text/joined.hpp"
#include "kernels/bf16.hpp"
#include "model/block/shape.hpp"
#include "model/config/config_reader.hpp"
#include "model/tensors/adapter_folder.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <set>
#include <utility>

namespace rollcall::model {
namespace {

constexpr const char* kHead = "lm_head.weight";

/// At most ten names, and how many more there are.
std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 10;
  const std::vector<std::string> shown(
      names.begin(), names.begin() + std::ptrdiff_t(std::min(kShown, names.size())));
  return fmt::format(
      "{}{}", joined(shown, ", "),
      names.size() > kShown ? fmt::format(" and {} more", names.size() - kShown) : "");
}

void check_names(const ModelConfig& config, const WeightLayout& layout, const WeightFiles& files,
                 const std::set<std::string>& beside) {
  std::vector<std::string> missing, unknown;
  std::set<std::string> wanted = beside;
  for (const Slice& slice : layout.slices) {
    wanted.insert(slice.name);
    if (!files.tensors().contains(slice.name)) missing.push_back(slice.name);
  }
  const bool head_only = missing == std::vector<std::string>{kHead};
  require<InputError>(
      missing.empty(), fmt::format("{} has no tensor {}", files.origin(), listed(missing)),
      "the model that config.json describes needs it",
      head_only
          ? "set \"tie_word_embeddings\": true in config.json if the embeddings are meant to be the head"
          : "copy both from the same model");
  for (const auto& [name, file] : files.tensors()) {
    const bool tied = name == kHead && config.tie_word_embeddings;
    if (!wanted.contains(name) && !tied && !is_harmless_buffer(name)) unknown.push_back(name);
  }
  require<InputError>(
      unknown.empty(),
      fmt::format("{} has tensor {}, which the model of config.json does not have", files.origin(),
                  listed(unknown)),
      fmt::format("{} without it would be a different model", row_of(config.architecture).name),
      "copy both from the same model");
}

void check_shape(const Slice& slice, const TensorView& tensor, const std::string& origin) {
  require<InputError>(
      tensor.shape == slice.shape,
      fmt::format("tensor {} of {} has shape [{}] where config.json asks for [{}]", slice.name,
                  origin, fmt::join(tensor.shape, ","), fmt::join(slice.shape, ",")),
      "the two files do not belong together", "copy both from the same model");
}

/// Checks that a head that is stored although it is tied equals the embedding. If the two differ,
/// transformers would use the stored head.
void check_tied_head(const WeightFiles& files, const Slice& embedding) {
  const auto found = files.tensors().find(kHead);
  if (found == files.tensors().end()) return;
  const SafetensorsFile &heads = *found->second, &embeddings = *files.tensors().at(embedding.name);
  bool same = heads.tensor(kHead).shape == embedding.shape;
  std::vector<float> a(std::size_t(1) << 16), b(a.size());
  for (std::size_t first = 0; same && first < std::size_t(embedding.count); first += a.size()) {
    const std::size_t count = std::min(a.size(), std::size_t(embedding.count) - first);
    heads.widen(kHead, first, std::span(a).first(count));
    embeddings.widen(embedding.name, first, std::span(b).first(count));
    same = std::memcmp(a.data(), b.data(), count * sizeof(float)) == 0;
  }
  require<InputError>(same,
                      fmt::format("{} of {} is not {}, although config.json ties them", kHead,
                                  files.origin(), embedding.name),
                      "one of them would be lost",
                      "set \"tie_word_embeddings\": false in config.json if both are meant");
}

void check_tensors(const ModelConfig& config, const WeightLayout& layout, const WeightFiles& files,
                   const std::set<std::string>& beside = {}) {
  check_names(config, layout, files, beside);
  for (const Slice& slice : layout.slices)
    check_shape(slice, files.tensors().at(slice.name)->tensor(slice.name), files.origin());
  if (!config.tie_word_embeddings) return;
  const std::int64_t embedding = layout.slice_of(model_shape(config).embedding);
  check_tied_head(files, layout.slices.at(std::size_t(embedding)));
}

/// Converts the tensors to fp32 in their places, with zeros between them.
void widen_all(const WeightLayout& layout, const WeightFiles& files, std::span<float> into) {
  std::size_t end = 0;
  for (const Slice& slice : layout.slices) {
    const auto offset = std::size_t(slice.offset), count = std::size_t(slice.count);
    std::fill(into.begin() + std::ptrdiff_t(end), into.begin() + slice.offset, 0.0F);
    files.tensors().at(slice.name)->widen(slice.name, 0, into.subspan(offset, count));
    end = offset + count;
  }
  std::fill(into.begin() + std::ptrdiff_t(end), into.end(), 0.0F);
}

/// Whether all values are finite: the exponent of no value has all bits set.
bool are_finite(std::span<const float> values) {
  constexpr std::uint32_t kExponent = 0x7F800000;
  std::uint32_t found = 0;
  for (const float value : values)
    found |= (std::bit_cast<std::uint32_t>(value) & kExponent) == kExponent ? 1U : 0U;
  return found == 0;
}

/// Throws InputError naming the first tensor with a value that is not finite, and its file.
void check_finite(const WeightLayout& layout, const WeightFiles& files) {
  std::vector<float> buffer(std::size_t(1) << 16);
  for (const Slice& slice : layout.slices) {
    const SafetensorsFile& file = *files.tensors().at(slice.name);
    for (std::size_t first = 0; first < std::size_t(slice.count); first += buffer.size()) {
      const auto part =
          std::span(buffer).first(std::min(buffer.size(), std::size_t(slice.count) - first));
      file.widen(slice.name, first, part);
      require<InputError>(
          are_finite(part),
          fmt::format("tensor {} of {} holds a value that is not finite", slice.name,
                      file.origin()),
          "the model would give no probabilities",
          "copy the file again, or name a model or an earlier checkpoint that is whole");
    }
  }
}

/// The tensors of a folder's files as a source of weights.
class FileWeights final : public WeightSource {
 public:
  FileWeights(const WeightLayout& layout, const WeightFiles& files) {
    for (const Slice& slice : layout.slices)
      tensors_.push_back({files.tensors().at(slice.name), slice.name});
  }
  bool is_bf16(TensorId tensor) const override {
    const auto& [file, name] = tensors_[tensor.value];
    return file->tensor(name).dtype == Dtype::bf16;
  }
  void read(TensorId tensor, std::int64_t first, std::span<float> into) const override {
    const auto& [file, name] = tensors_[tensor.value];
    file->widen(name, std::size_t(first), into);
  }
  void read(TensorId tensor, std::int64_t first, std::span<std::uint16_t> into) const override {
    const auto& [file, name] = tensors_[tensor.value];
    file->halves(name, std::size_t(first), into);
  }

 private:
  struct Tensor {
    const SafetensorsFile* file;
    std::string name;
  };
  std::vector<Tensor> tensors_;  ///< by id
};

/// Throws InputError if the sum of a finite model and a finite adapter is too large for fp32.
void require_finite_merge(const std::string& tensor, std::span<const float> merged) {
  require<InputError>(
      are_finite(merged),
      fmt::format("with its adapter, tensor {} holds a value that is not finite", tensor),
      "the model would give no probabilities", "check lora_alpha and r in adapter_config.json");
}

/// The tensors of a folder's files with an adapter merged into them.
class MergedWeights final : public WeightSource {
 public:
  MergedWeights(const WeightLayout& layout, const WeightFiles& files, const AdapterValues& adapter)
      : layout_(&layout), base_(layout, files), adapter_(&adapter) {}
  bool is_bf16(TensorId tensor) const override {
    return !adapter_->changes(tensor) && base_.is_bf16(tensor);
  }
  void read(TensorId tensor, std::int64_t first, std::span<float> into) const override {
    base_.read(tensor, first, into);
    if (!adapter_->changes(tensor)) return;
    adapter_->merge(tensor, first, into);
    require_finite_merge(layout_->slices.at(std::size_t(layout_->slice_of(tensor))).name, into);
  }
  void read(TensorId tensor, std::int64_t first, std::span<std::uint16_t> into) const override {
    base_.read(tensor, first, into);
  }

 private:
  const WeightLayout* layout_;
  FileWeights base_;
  const AdapterValues* adapter_;
};

/// What a folder with a model or an adapter holds, before any weight of the model is read.
struct OpenModel {
  ModelConfig config;  ///< of the model, without the adapter
  std::shared_ptr<const WeightFiles> files;
  std::optional<AdapterValues> adapter;
};

OpenModel open_model(const std::filesystem::path& folder) {
  if (!is_adapter_folder(folder)) {
    ModelConfig config = read_folder_config(folder);
    return {std::move(config), std::make_shared<const WeightFiles>(WeightFiles::open(folder)), {}};
  }
  AdapterFolder adapter = open_adapter(folder);
  AdapterValues values = read_adapter(adapter);
  adapter.config.adapter = {};
  return {std::move(adapter.config), std::move(adapter.base), std::move(values)};
}

LoadedModel read_merged(const OpenModel& model) {
  LoadedModel loaded{model.config, read_weights(model.config, *model.files)};
  if (!model.adapter) return loaded;
  for (const Slice& slice : weight_layout(model.config).slices)
    model.adapter->merge(
        slice.tensor, 0,
        loaded.weights.span().subspan(std::size_t(slice.offset), std::size_t(slice.count)));
  return loaded;
}

/// The header and the tensors of model.safetensors, one of them per call.
class WeightPieces {
 public:
  WeightPieces(const WeightLayout& layout, std::span<const float> weights,
               const FolderFormat& format)
      : layout_(layout), weights_(weights), format_(format) {}

  std::string_view operator()() {
    if (next_ > layout_.slices.size()) return {};
    if (next_++ == 0) return piece_ = header();
    const Slice& slice = layout_.slices[next_ - 2];
    const std::span<const float> values =
        weights_.subspan(std::size_t(slice.offset), std::size_t(slice.count));
    if (format_.dtype == Dtype::f32)
      return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
    rounded_.resize(values.size());
    std::transform(values.begin(), values.end(), rounded_.begin(), kernels::to_bf16);
    return {reinterpret_cast<const char*>(rounded_.data()), rounded_.size() * 2};
  }

 private:
  std::string header() const {
    std::vector<TensorView> tensors = weight_tensors(layout_, weights_);
    for (TensorView& tensor : tensors) {
      tensor.dtype = format_.dtype;
      // The header depends on the size of the bytes only.
      if (format_.dtype == Dtype::bf16) tensor.bytes = tensor.bytes.first(tensor.bytes.size() / 2);
    }
    auto metadata = format_.metadata;
    metadata.insert(model_metadata().begin(), model_metadata().end());
    return safetensors_head(tensors, metadata);
  }

  const WeightLayout& layout_;
  std::span<const float> weights_;
  const FolderFormat& format_;
  std::size_t next_ = 0;
  std::string piece_;
  std::vector<std::uint16_t> rounded_;
};

}  // namespace

std::vector<TensorView> weight_tensors(const WeightLayout& layout, std::span<const float> weights) {
  std::vector<TensorView> tensors;
  for (const Slice& slice : layout.slices) {
    const auto values = weights.subspan(std::size_t(slice.offset), std::size_t(slice.count));
    tensors.push_back({slice.name, Dtype::f32, slice.shape, std::as_bytes(values)});
  }
  return tensors;
}

const std::map<std::string, std::string>& model_metadata() {
  // transformers refuses files without this entry.
  static const std::map<std::string, std::string> metadata{{"format", "pt"}};
  return metadata;
}

ModelConfig read_folder_config(const std::filesystem::path& folder) {
  if (is_adapter_folder(folder)) {
    ModelConfig merged = read_adapted_config(folder);
    merged.adapter = {};
    return merged;
  }
  const std::filesystem::path config = folder / "config.json",
                              generation = folder / "generation_config.json";
  NamedText suggested;
  if (std::filesystem::exists(generation)) suggested = {read_file(generation), generation.string()};
  return read_model_config({read_file(config), config.string()}, suggested);
}

std::string stored_dtype(const std::filesystem::path& folder) {
  if (is_adapter_folder(folder)) return stored_dtype(base_folder(folder));
  const std::filesystem::path path = folder / "config.json";
  const ConfigReader in(read_file(path), path.string());
  for (const char* key : {"dtype", "torch_dtype"})
    if (in.has(key) && in.root().at(key).is_string()) return in.root().at(key).get<std::string>();
  return {};
}

void require_model_weights(const std::filesystem::path& folder) {
  if (!is_adapter_folder(folder)) return require_weights(folder);
  require_adapter_weights(folder);
  require_weights(base_folder(folder));
}

std::string folder_sha256(const std::filesystem::path& folder) {
  if (!is_adapter_folder(folder)) return files_sha256(WeightFiles::open(folder));
  const AdapterFolder adapter = open_adapter(folder);
  return Sha256()
      .add(files_sha256(*adapter.base))
      .add(files_sha256(adapter.files))
      .add(fmt::format("{}", adapter.config.adapter.scale()))
      .hex();
}

LoadedModel read_model_folder(const std::filesystem::path& folder) {
  return read_merged(open_model(folder));
}

LoadedModel read_finite_model(const std::filesystem::path& folder) {
  const OpenModel model = open_model(folder);
  LoadedModel loaded = read_merged(model);
  const WeightLayout layout = weight_layout(loaded.config);
  check_finite(layout, *model.files);
  if (!model.adapter) return loaded;
  for (const Slice& slice : layout.slices)
    require_finite_merge(slice.name, loaded.weights.span().subspan(std::size_t(slice.offset),
                                                                   std::size_t(slice.count)));
  return loaded;
}

PolicyModel read_policy(const std::filesystem::path& folder, const kernels::KernelSet* kernels,
                        const Threads& threads) {
  const OpenModel model = open_model(folder);
  if (!model.adapter) return read_policy(model.config, *model.files, {}, kernels, threads);
  const WeightLayout layout = weight_layout(model.config);
  check_tensors(model.config, layout, *model.files);
  check_finite(layout, *model.files);
  return PolicyModel(model.config, MergedWeights(layout, *model.files, *model.adapter),
                     PolicyVersion{0}, kernels, threads);
}

PolicyModel read_policy(const ModelConfig& config, const WeightFiles& files,
                        const std::set<std::string>& beside, const kernels::KernelSet* kernels,
                        const Threads& threads) {
  const WeightLayout layout = weight_layout(config);
  check_tensors(config, layout, files, beside);
  check_finite(layout, files);
  return PolicyModel(config, FileWeights(layout, files), PolicyVersion{0}, kernels, threads);
}

void check_model_files(const ModelConfig& config, const WeightFiles& files) {
  check_tensors(config, weight_layout(config), files);
}

AlignedFloats read_weights(const ModelConfig& config, const WeightFiles& files) {
  const WeightLayout layout = weight_layout(config);
  check_tensors(config, layout, files);
  AlignedFloats weights{std::size_t(layout.size)};  // after the check: a config.json that does not
                                                    // belong to the files could ask for any size
  widen_all(layout, files, weights.span());
  return weights;
}

AlignedFloats read_weights(const ModelConfig& config, const std::filesystem::path& file) {
  return read_weights(config, WeightFiles(SafetensorsFile::map(file)));
}

void read_weights(const ModelConfig& config, const std::filesystem::path& file,
                  std::span<float> into) {
  const WeightLayout layout = weight_layout(config);
  expect(std::int64_t(into.size()) == layout.size, "weights fill their layout");
  const WeightFiles files(SafetensorsFile::map(file));
  check_tensors(config, layout, files);
  widen_all(layout, files, into);
}

std::string to_model_safetensors(const WeightLayout& layout, std::span<const float> weights,
                                 const std::map<std::string, std::string>& metadata) {
  const FolderFormat format{Dtype::f32, metadata};
  WeightPieces pieces(layout, weights, format);
  std::string bytes(pieces());
  bytes.reserve(bytes.size() + weights.size_bytes());
  for (std::string_view piece = pieces(); !piece.empty(); piece = pieces()) bytes += piece;
  return bytes;
}

void write_model_folder(const std::filesystem::path& folder, const ModelConfig& config,
                        std::span<const float> weights, const FolderFormat& format) {
  expect(format.dtype == Dtype::f32 || format.dtype == Dtype::bf16,
         "weights are written as F32 or BF16");
  const WeightLayout layout = weight_layout(config);
  expect(std::int64_t(weights.size()) == layout.size, "weights fill their layout");
  make_folder(folder);
  // The weights come first: if they find no space, an earlier model in the folder stays whole.
  WeightPieces pieces(layout, weights, format);
  write_file_atomic(folder / "model.safetensors", FilePieces([&] { return pieces(); }));
  write_file_atomic(folder / "config.json",
                    to_config_json(config, format.dtype == Dtype::f32 ? "float32" : "bfloat16"));
}

}  // namespace rollcall::model
