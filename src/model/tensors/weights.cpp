// Layout of the flat weight buffer, initial weights and their digest.
#include "model/tensors/weights.hpp"

#include "base/errors/error.hpp"
#include "base/numbers/hash.hpp"
#include "base/numbers/random.hpp"
#include "model/block/shape.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace rollcall::model {

std::int64_t WeightLayout::slice_of(TensorId tensor) const {
  const std::uint64_t first = slices.empty() ? 0 : slices.front().tensor.value;
  if (tensor.value < first || tensor.value - first >= slices.size()) return -1;
  return std::int64_t(tensor.value - first);
}

LayoutRange WeightLayout::range_of(const TensorRange& tensors) const {
  const Slice &first = slices.at(std::size_t(slice_of(tensors.first))),
              &last = slices.at(std::size_t(slice_of(tensors.last)));
  return {first.offset, last.offset + last.count};
}

WeightLayout weight_layout(const ModelConfig& config) {
  WeightLayout layout;
  ModelShape shape = model_shape(config);
  for (TensorSpec& tensor : shape.tensors) {
    const std::int64_t count = tensor.count();
    layout.slices.push_back({tensor.id, std::move(tensor.name), std::move(tensor.shape),
                             layout.size, count, tensor.decay, tensor.initial});
    layout.size += (count + 15) / 16 * 16;  // every slice starts on a cache line
  }
  return layout;
}

WeightLayout trained_layout(const ModelConfig& config) { return weight_layout(config); }

std::vector<float> initial_weights(const ModelConfig& config, std::uint64_t seed) {
  const WeightLayout layout = weight_layout(config);
  std::vector<float> weights(std::size_t(layout.size), 0.0F);
  for (const Slice& slice : layout.slices) {
    float* values = weights.data() + slice.offset;
    switch (slice.initial) {
      case Initial::zeros: break;
      case Initial::ones: std::fill_n(values, slice.count, 1.0F); break;
      case Initial::normal: {
        const RandomStream stream(seed, RandomPurpose::init, 0, slice.tensor.value);
        for (std::int64_t i = 0; i < slice.count; ++i)
          values[i] = float(config.initializer_range * stream.normal(std::uint64_t(i)));
      }
    }
  }
  return weights;
}

std::string weights_sha256(const WeightLayout& layout, std::span<const float> weights) {
  expect(std::int64_t(weights.size()) == layout.size, "weights fill their layout");
  Sha256 digest;
  for (const Slice& slice : layout.slices) {
    digest.add(fmt::format("{}[{}]\n", slice.name, fmt::join(slice.shape, ",")));
    // All supported machines are little-endian.
    digest.add(std::as_bytes(weights.subspan(std::size_t(slice.offset), std::size_t(slice.count))));
  }
  return digest.hex();
}

}  // namespace rollcall::model
