// Moves buffers through work memory part by part.
#include "comm/device_collectives.hpp"

#include "base/errors/error.hpp"
#include "base/numbers/hash.hpp"
#include "base/text/byte_size.hpp"
#include "comm/backoff.hpp"
#include "comm/shares.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rollcall::comm {
namespace {

/// Whether collectives on shares are built from collectives on whole buffers. Shares are exchanged
/// padded to the length of the longest one, so if only few ranks have a share, the padding is more
/// than twice the buffer.
bool shares_go_whole(std::span<const std::int64_t> share_offsets) {
  return longest_share(share_offsets) * std::int64_t(share_offsets.size() - 1) >
         2 * share_offsets.back();
}

}  // namespace

void check_cuda(cudaError_t code, const char* call) {
  require<ProtocolError>(code == cudaSuccess, fmt::format("{} failed", call),
                         cudaGetErrorString(code),
                         "see the driver's log (dmesg, Xid) of this node");
}

bool on_device(const void* data) {
  cudaPointerAttributes attributes{};
  check_cuda(cudaPointerGetAttributes(&attributes, data), "cudaPointerGetAttributes");
  return attributes.type == cudaMemoryTypeDevice || attributes.type == cudaMemoryTypeManaged;
}

std::uint64_t checksum_anywhere(std::span<const std::byte> bytes) {
  if (bytes.empty() || !on_device(bytes.data())) return checksum64(bytes);
  std::vector<std::byte> window(std::min(bytes.size(), std::size_t{4} << 20));
  Checksum64 sum;
  for (std::size_t first = 0; first < bytes.size(); first += window.size()) {
    const std::size_t count = std::min(window.size(), bytes.size() - first);
    check_cuda(cudaMemcpy(window.data(), bytes.data() + first, count, cudaMemcpyDeviceToHost),
               "cudaMemcpy");
    sum.add(std::span(window).first(count));
  }
  return sum.value();
}

namespace {
void take_on_device(void** memory, std::size_t bytes) {
  const cudaError_t code = cudaMalloc(memory, bytes);
  require<EnvironmentError>(
      code != cudaErrorMemoryAllocation,
      fmt::format("the CUDA device has no room for what is on the way to other ranks: {} asked for",
                  bytes_text(bytes)),
      "sums and weights pass through it",
      "see with `rollcall plan RUN.toml --gpus N` what each device holds, and whether others use "
      "it");
  check_cuda(code, "cudaMalloc");
}
}  // namespace

WorkMemory::WorkMemory(int device, Side side, std::size_t bytes)
    : device_(device), side_(side), bytes_(bytes) {
  use();
  check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking),
             "cudaStreamCreateWithFlags");
  void* memory = nullptr;
  if (side == Side::device) take_on_device(&memory, bytes);
  else check_cuda(cudaMallocHost(&memory, bytes), "cudaMallocHost");
  memory_ = static_cast<std::byte*>(memory);
}

WorkMemory::~WorkMemory() {
  side_ == Side::device ? cudaFree(memory_) : cudaFreeHost(memory_);
  cudaStreamDestroy(stream_);
}

void WorkMemory::copy(void* to, const void* from, std::size_t bytes) const {
  if (bytes > 0)
    check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_), "cudaMemcpyAsync");
}

bool WorkMemory::idle() const {
  const cudaError_t state = cudaStreamQuery(stream_);
  if (state != cudaErrorNotReady) check_cuda(state, "cudaStreamQuery");
  return state == cudaSuccess;
}

void WorkMemory::drain() const noexcept {
  const Backoff waiting;
  while (cudaStreamQuery(stream_) == cudaErrorNotReady && waiting.waited_s() < 1.0)
    give_way(waiting.pause_s());
}

namespace {
template <class Act>
void drained_after_errors(const WorkMemory& work, Act act) {
  try {
    act();
  } catch (...) {
    work.drain();
    throw;
  }
}
}  // namespace

template <class T, class Act>
void DeviceCollectives::in_parts(std::span<T> values, const char* what, Act act) {
  work_->use();
  const bool in_place = !values.empty() && work_->holds(values.data());
  const std::size_t part_size = work_->bytes() / sizeof(T);
  for (std::size_t first = 0; first < values.size(); first += part_size) {
    const std::span<T> piece = values.subspan(first, std::min(part_size, values.size() - first));
    const std::span<T> work =
        in_place ? piece : std::span(reinterpret_cast<T*>(work_->begin()), piece.size());
    drained_after_errors(*work_, [&] {
      if (!in_place) work_->copy(work.data(), piece.data(), piece.size_bytes());
      act(work);
      if (!in_place) work_->copy(piece.data(), work.data(), piece.size_bytes());
      finish(what);
    });
  }
}

/// Cuts a piece of the same length `share` from every rank's share at a time. act(work, share,
/// copy_piece) works on these pieces in the work memory [ranks, share]; copy_piece(rank, in) copies
/// the piece of one rank into work memory (`in`) or back.
template <class T, class Act>
void DeviceCollectives::in_pieces(std::span<T> values, std::span<const std::int64_t> share_offsets,
                                  const char* what, Act act) {
  work_->use();
  const std::size_t ranks = std::size_t(size());
  const auto longest = longest_share(share_offsets),
             part_size = std::int64_t(work_->bytes() / sizeof(T) / ranks);
  for (std::int64_t first = 0; first < longest; first += part_size) {
    const std::int64_t share = std::min(part_size, longest - first);
    const std::span<T> work(reinterpret_cast<T*>(work_->begin()), ranks * std::size_t(share));
    const auto copy_piece = [&](std::size_t r, bool in) {
      const std::int64_t length = share_offsets[r + 1] - share_offsets[r],
                         from = std::min(first, length), count = std::min(share, length - from);
      T *outside = values.data() + share_offsets[r] + from,
        *inside = work.data() + std::int64_t(r) * share;
      work_->copy(in ? inside : outside, in ? outside : inside, std::size_t(count) * sizeof(T));
    };
    drained_after_errors(*work_, [&] {
      act(work, std::size_t(share), copy_piece);
      finish(what);
    });
  }
}

void DeviceCollectives::sum(std::span<std::int64_t> values) {
  in_parts(values, "the sum of all ranks", [&](auto work) { sum_work(work); });
}

void DeviceCollectives::maximum(std::span<double> values) {
  in_parts(values, "the maximum of all ranks", [&](auto work) { maximum_work(work); });
}

void DeviceCollectives::broadcast(std::span<std::byte> bytes, int root) {
  in_parts(bytes, "a broadcast", [&](auto work) { broadcast_work(work, root); });
}

void DeviceCollectives::sum_to_shares(std::span<std::int64_t> values,
                                      std::span<const std::int64_t> share_offsets) {
  if (shares_go_whole(share_offsets)) return Collectives::sum_to_shares(values, share_offsets);
  in_pieces(values, share_offsets, "the own share of a sum",
            [&](std::span<std::int64_t> work, std::size_t share, const auto& copy_piece) {
              for (std::size_t r = 0; r < std::size_t(size()); ++r) copy_piece(r, true);
              sum_to_shares_work(work, share);
              copy_piece(std::size_t(rank()), false);
            });
}

void DeviceCollectives::gather_shares(std::span<float> values,
                                      std::span<const std::int64_t> share_offsets) {
  if (shares_go_whole(share_offsets)) return Collectives::gather_shares(values, share_offsets);
  in_pieces(values, share_offsets, "the shares of all ranks",
            [&](std::span<float> work, std::size_t share, const auto& copy_piece) {
              copy_piece(std::size_t(rank()), true);
              gather_work(work, share);
              for (std::size_t r = 0; r < std::size_t(size()); ++r)
                if (r != std::size_t(rank())) copy_piece(r, false);
            });
}

}  // namespace rollcall::comm
