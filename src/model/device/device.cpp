// Copies through pinned memory, which is taken in chunks and kept.
#include "model/device/device.hpp"

#include "base/errors/error.hpp"
#include "model/device/device_choice.hpp"
#include "model/device/device_sizes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace rollcall::model {
namespace {

using device_sizes::kChunk;
int preferred_place = 0;
std::size_t padded(std::size_t bytes) {
  return std::size_t(device_sizes::piece(std::int64_t(bytes)));
}

}  // namespace

void DeviceArena::reserve(std::int64_t bytes) {
  if (blocks_.size() == 1 && blocks_.front().bytes >= std::size_t(bytes)) return;
  blocks_.clear();  // before the new block is taken, or both would exist at the same time
  blocks_.push_back({kernels::cuda::device_memory(std::size_t(bytes), what_), std::size_t(bytes)});
  at_ = {};
}

/// A piece beyond the planned size gets its own block, so that no pass fails because of it.
std::byte* DeviceArena::take_bytes(std::size_t bytes) {
  const std::size_t size = padded(bytes);
  while (at_.block < blocks_.size() && at_.used + size > blocks_[at_.block].bytes)
    at_ = {at_.block + 1, 0};
  if (at_.block == blocks_.size()) {
    const std::size_t made = std::max(size, std::size_t(kChunk));
    blocks_.push_back({kernels::cuda::device_memory(made, what_), made});
  }
  std::byte* piece = blocks_[at_.block].memory.get() + at_.used;
  at_.used += size;
  return piece;
}

Device& Device::own() {
  static auto& only = *new Device;  // never destroyed, as the driver may shut down first
  return only;
}

Device::Device() {
  const auto found = kernels::cuda::devices();
  require<EnvironmentError>(found.problem.empty(), "there is no CUDA device: " + found.problem,
                            "the run's numerics are a device's",
                            "start on a node with a free NVIDIA GPU");
  index_ = preferred_place % found.count;
  kernels::cuda::use_device(index_);
  context_.stream = kernels::cuda::new_stream(), copies_.stream = kernels::cuda::new_stream();
}

Device::Chunk& Device::chunk_for(std::vector<Chunk>& chunks, std::size_t bytes, bool both) {
  const auto found = std::find_if(chunks.begin(), chunks.end(), [&](const Chunk& chunk) {
    return chunk.used + bytes <= chunk.bytes;
  });
  if (found != chunks.end()) return *found;
  const std::size_t made = std::max(bytes, std::size_t(kChunk));
  chunks.push_back({kernels::cuda::pinned_memory(made),
                    both ? kernels::cuda::device_memory(made, device_items::kUpload) : nullptr,
                    made, 0});
  return chunks.back();
}

const std::byte* Device::upload_bytes(std::span<const std::byte> bytes) {
  Chunk& chunk = chunk_for(up_, padded(bytes.size()), true);
  std::byte *from = chunk.pinned.get() + chunk.used, *to = chunk.device.get() + chunk.used;
  chunk.used += padded(bytes.size());
  if (bytes.empty()) return to;
  std::memcpy(from, bytes.data(), bytes.size());
  kernels::cuda::copy_to_device(context_, to, from, bytes.size());
  return to;
}

void Device::download_bytes(const void* from, std::span<std::byte> to) {
  if (to.empty()) return;
  Chunk& chunk = chunk_for(down_, padded(to.size()), false);
  std::byte* by_way_of = chunk.pinned.get() + chunk.used;
  chunk.used += padded(to.size());
  kernels::cuda::copy_to_host(context_, by_way_of, from, to.size());
  arriving_.push_back({by_way_of, to});
}

void Device::wait() {
  kernels::cuda::wait(context_);
  for (const auto& [pinned, to] : arriving_) std::memcpy(to.data(), pinned, to.size());
  arriving_.clear();
  for (Chunk& chunk : down_) chunk.used = 0;
}

void Device::recycle() {
  for (Chunk& chunk : up_) chunk.used = 0;
}

void DeviceInput::begin() {
  copied_.wait();
  used_ = 0;
}

const std::byte* DeviceInput::put_bytes(std::span<const std::byte> bytes) {
  std::memcpy(pinned_.get() + used_, bytes.data(), bytes.size());
  return place_ + std::exchange(used_, used_ + bytes.size());
}

void DeviceInput::send() {
  read_.wait_on(device_->copies());
  kernels::cuda::copy_to_device(device_->copies(), place_, pinned_.get(), used_);
  copied_.record(device_->copies());
  copied_.wait_on(device_->context());
}

void DeviceInput::read() { read_.record(device_->context()); }

std::string device_problem() { return kernels::cuda::devices().problem; }
void prefer_device(int place) { preferred_place = place; }

int device_index() { return Device::own().index(); }

std::string device_name() {
  Device::own();
  return kernels::cuda::device_name();
}

std::string device_kind() {
  Device::own();
  return kernels::cuda::device_kind();
}

std::string device_text() {
  return fmt::format("{}, device {} of {}", device_name(), device_index(),
                     kernels::cuda::devices().count);
}

}  // namespace rollcall::model
