// Finds the matrices of an adapter by their names, and merges them.
#include "model/tensors/adapter_tensors.hpp"

#include "base/errors/error.hpp"
#include "base/errors/nearest.hpp"
#include "model/block/shape.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

namespace rollcall::model {
namespace {

/// The module that has a tensor: its name without ".weight".
std::string module_of(const ModelShape& shape, TensorId weight) {
  const std::string& name = shape.tensors.at(weight.value).name;
  return name.substr(0, name.rfind('.'));
}

/// Whether a target names a module, as PEFT compares them.
bool names(std::string_view target, std::string_view module) {
  return module == target || (module.size() > target.size() && module.ends_with(target) &&
                              module[module.size() - target.size() - 1] == '.');
}

/// All matrices that an adapter can change.
std::vector<AdaptedMatrix> matrices_of(const ModelShape& shape) {
  std::vector<AdaptedMatrix> matrices;
  for (const Layer& layer : shape.layers) {
    each_linear(layer, [&](const Linear& linear) {
      matrices.push_back(
          {linear.weight, linear.outputs, linear.inputs, module_of(shape, linear.weight)});
    });
  }
  return matrices;
}

/// The last parts of the names of the matrices, each of them once: "q_proj" and so on.
std::vector<std::string> short_names(const std::vector<AdaptedMatrix>& matrices) {
  std::vector<std::string> known;
  for (const AdaptedMatrix& matrix : matrices) {
    std::string name = matrix.module.substr(matrix.module.rfind('.') + 1);
    if (std::find(known.begin(), known.end(), name) == known.end())
      known.push_back(std::move(name));
  }
  return known;
}

}  // namespace

void check_adapter(const ModelConfig& config, const std::string& origin) {
  const ModelShape shape = model_shape(config);
  const auto matrices = matrices_of(shape);
  for (const std::string& target : config.adapter.targets) {
    const std::string problem =
        fmt::format("{} has \"{}\" among its target_modules", origin, target);
    const bool outside = names(target, module_of(shape, shape.embedding)) ||
                         names(target, module_of(shape, shape.head.weight)) || target == "lm_head";
    require<InputError>(!outside, problem, "an adapter changes neither the embedding nor the head",
                        "merge it with merge_and_unload() of PEFT, and name the folder of the "
                        "whole model");
    const bool known =
        std::any_of(matrices.begin(), matrices.end(),
                    [&](const AdaptedMatrix& matrix) { return names(target, matrix.module); });
    require<InputError>(
        known, problem,
        fmt::format("the blocks of {} have no such matrix", row_of(config.architecture).name),
        suggest_name(target, short_names(matrices)));
  }
  std::int64_t widest = 0;
  for (const AdaptedMatrix& matrix : adapted_matrices(config))
    widest = std::max({widest, matrix.outputs, matrix.inputs});
  require<InputError>(config.adapter.rank <= widest,
                      fmt::format("{} has \"r\": {}", origin, config.adapter.rank),
                      fmt::format("no side of its matrices is longer than {}", widest),
                      "copy adapter_config.json and weights from the same adapter");
}

std::vector<AdaptedMatrix> adapted_matrices(const ModelConfig& config) {
  const std::vector<std::string>& targets = config.adapter.targets;
  std::vector<AdaptedMatrix> matrices = matrices_of(model_shape(config));
  std::erase_if(matrices, [&](const AdaptedMatrix& matrix) {
    return std::none_of(targets.begin(), targets.end(),
                        [&](const std::string& target) { return names(target, matrix.module); });
  });
  return matrices;
}

WeightLayout adapter_layout(const ModelConfig& config) {
  const std::int64_t rank = config.adapter.rank;
  std::uint64_t next = model_shape(config).tensors.size();
  WeightLayout layout;
  const auto add = [&](std::string name, std::int64_t rows, std::int64_t columns) {
    layout.slices.push_back(
        {TensorId{next++}, std::move(name), {rows, columns}, layout.size, rows * columns, true});
    layout.size += (rows * columns + 15) / 16 * 16;  // every slice starts on a cache line
  };
  for (const AdaptedMatrix& matrix : adapted_matrices(config)) {
    const std::string prefix = "base_model.model." + matrix.module;
    add(prefix + ".lora_A.weight", rank, matrix.inputs);
    add(prefix + ".lora_B.weight", matrix.outputs, rank);
  }
  return layout;
}

AdapterValues::AdapterValues(const ModelConfig& config, AlignedFloats values)
    : values_(std::move(values)),
      rank_(config.adapter.rank),
      scale_(float(config.adapter.scale())) {
  const WeightLayout layout = adapter_layout(config);
  expect(std::int64_t(values_.size()) == layout.size, "values fill their layout");
  std::size_t slice = 0;
  for (const AdaptedMatrix& matrix : adapted_matrices(config)) {
    const float *a = values_.data() + layout.slices.at(slice).offset,
                *b = values_.data() + layout.slices.at(slice + 1).offset;
    factors_.push_back({matrix.weight, matrix.inputs, a, b});
    slice += 2;
  }
}

const AdapterValues::Factors* AdapterValues::factors_of(TensorId tensor) const {
  const auto found = std::lower_bound(
      factors_.begin(), factors_.end(), tensor,
      [](const Factors& factors, TensorId wanted) { return factors.weight < wanted; });
  return found != factors_.end() && found->weight == tensor ? &*found : nullptr;
}

bool AdapterValues::changes(TensorId tensor) const { return factors_of(tensor) != nullptr; }

void AdapterValues::merge(TensorId tensor, std::int64_t first, std::span<float> weights) const {
  const Factors* factors = factors_of(tensor);
  if (factors == nullptr) return;
  const std::int64_t inputs = factors->inputs, end = first + std::int64_t(weights.size());
  for (std::int64_t at = first; at < end;) {
    const std::int64_t row = at / inputs, column = at % inputs,
                       count = std::min(inputs - column, end - at);
    float* into = weights.data() + (at - first);
    for (std::int64_t r = 0; r < rank_; ++r) {
      const float factor = scale_ * factors->b[row * rank_ + r];
      if (factor == 0.0F) continue;
      const float* a = factors->a + r * inputs + column;
      for (std::int64_t i = 0; i < count; ++i) into[i] = std::fma(factor, a[i], into[i]);
    }
    at += count;
  }
}

}  // namespace rollcall::model
