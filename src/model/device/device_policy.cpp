// Copies a policy to the device: panels in one piece, norms and biases gathered, and the embedding
// rounded on the device unless it is also the head.
#include "model/device/device_policy.hpp"

#include "model/train/policy_optimizer.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace rollcall::model {
namespace {

namespace cuda = kernels::cuda;

/// Floats of the embedding that are copied at a time.
constexpr std::int64_t kTableFloats = std::int64_t(1) << 20;

/// The length of a vector, rounded up so that the next one begins at a multiple of 16 bytes.
std::int64_t padded(std::int64_t floats) { return (floats + 3) / 4 * 4; }

}  // namespace

OnDevice::OnDevice(Device& device, const PolicyModel::Packed& host)
    : bytes_(device_weight_bytes(host.config)),
      memory_(cuda::device_memory(std::size_t(bytes_.changing()), device_items::kWeights)),
      angles_(cuda::device_memory(std::size_t(bytes_.angles), device_items::kWeights)) {
  view.config = host.config, view.kernels = host.kernels;
  view.layers = host.layers, view.final_norm = host.final_norm, view.head = host.head;
  view.embedding.tensor = host.embedding.tensor;
  view.backward_parts = host.backward_parts;
  cuda::fill_zeros(device.context(), memory_.get(), std::size_t(bytes_.changing()));
  place(device, host);
  copy(device, host);
}

/// Turns the host's pointers into those of the device, and copies what is the same in all versions.
void OnDevice::place(Device& device, const PolicyModel::Packed& host) {
  places_.resize(host.layout.slices.size());
  each_linear(view, [&](Linear& linear) {
    linear.panels =
        memory_.get() + (static_cast<const std::byte*>(linear.panels) - host.panels.data());
    linear.weight_rows = nullptr;
    places_[linear.weight.value] = {const_cast<kernels::Bf16*>(rows_of(linear).rows), linear.inputs,
                                    nullptr};
  });
  float* next = vectors();
  each_vector(view, [&](const float*& vector, std::int64_t count, TensorId tensor) {
    places_[tensor.value].vector = next;
    vector = next, next += padded(count);
  });
  Place& rows = places_[view.embedding.tensor.value];
  if (!view.config.tie_word_embeddings) rows = {table(), view.config.hidden_size, nullptr};
  embedding = {rows.rows, view.config.vocab_size, view.config.hidden_size};
  auto* angles = reinterpret_cast<float*>(angles_.get());
  const auto placed = [&](const std::vector<float>& values) {
    cuda::copy_to_device(device.context(), angles, values.data(), values.size() * sizeof(float));
    return std::exchange(angles, angles + values.size());
  };
  for (const auto& table : host.rotary) {
    const float* cos = placed(table->cos);
    rotary.push_back({cos, placed(table->sin)});
  }
}

void OnDevice::copy(Device& device, const PolicyModel::Packed& host) {
  kernels::ExecutionContext& context = device.context();
  cuda::copy_to_device(context, memory_.get(), host.panels.data(), host.panels.size());
  std::vector<float> floats;
  each_vector(host, [&](const float* vector, std::int64_t count, TensorId) {
    floats.insert(floats.end(), vector, vector + count);
    floats.resize(floats.size() + std::size_t(padded(count) - count));
  });
  cuda::copy_to_device(context, vectors(), floats.data(), floats.size() * sizeof(float));
  device.wait();  // the host's memory may change after this
  if (!view.config.tie_word_embeddings) copy_embedding(device, host);
  revision = host.revision;
}

void OnDevice::put(Device& device, TensorId tensor, std::int64_t first, const float* values,
                   std::int64_t count) const {
  const auto [rows, columns, vector] = places_[tensor.value];
  if (rows == nullptr)
    cuda::copy_on_device(device.context(), vector + first, values,
                         std::size_t(count) * sizeof(float));
  else
    cuda::round_rows(device.context(), values, count / columns, columns,
                     rows + first / columns * cuda::stepped(columns));
}

void OnDevice::copy_embedding(Device& device, const PolicyModel::Packed& host) {
  const std::int64_t width = host.config.hidden_size,
                     most =
                         std::clamp<std::int64_t>(kTableFloats / width, 1, host.config.vocab_size);
  std::vector<float> rows(static_cast<std::size_t>(most * width));
  const auto on_device = cuda::device_memory(rows.size() * sizeof(float), device_items::kWeights);
  auto* const floats = reinterpret_cast<float*>(on_device.get());
  for (std::int64_t first = 0; first < host.config.vocab_size; first += most) {
    const std::int64_t count = std::min(most, host.config.vocab_size - first);
    for (std::int64_t i = 0; i < count; ++i)
      host.embedding.row(std::int32_t(first + i), rows.data() + i * width);
    cuda::copy_to_device(device.context(), floats, rows.data(),
                         std::size_t(count * width) * sizeof(float));
    cuda::round_rows(device.context(), floats, count, width,
                     table() + first * cuda::stepped(width));
    device.wait();
  }
}

const OnDevice& on_device(Device& device, const PolicyModel::Packed& host) {
  if (host.on_device == nullptr) host.on_device = std::make_shared<OnDevice>(device, host);
  if (host.on_device->revision != host.revision) host.on_device->copy(device, host);
  return *host.on_device;
}

std::span<float> device_weights(const PolicyModel& policy) {
  Device& device = Device::own();
  const auto turn = device.turn();
  const auto weights = on_device(device, policy.packed()).weights();
  device.wait();
  return weights;
}

}  // namespace rollcall::model
