// The device memory that src/model/device takes, computed from shapes only. The code that
// takes it and the code that plans it use the same functions. All numbers are bytes unless stated
// otherwise.
#pragma once

#include "model/tensors/weights.hpp"

#include <cstdint>

namespace rollcall::model {

namespace device_sizes {
constexpr std::int64_t kHeadRows = 256;  ///< rows whose logits exist at a time
/// Plans assume that the sequences of a micro-batch have at least this many rows on average.
constexpr std::int64_t kMicroBatchSequence = 16;
/// Floats of a weight's gradient that exist at a time.
constexpr std::int64_t kWeightFloats = std::int64_t(1) << 24;
/// Elements of a share, or of all weights, that are converted at a time.
constexpr std::int64_t kWindow = std::int64_t(1) << 22;
constexpr std::int64_t kChunk = std::int64_t(1) << 20;  ///< size of buffers for uploads
constexpr std::int64_t kAlign = 256;  ///< pieces of an arena begin at multiples of this
/// Bytes per row of a step that graphs read: place, token, position and source.
constexpr std::int64_t kStepRow = 24 + 3 * 4;
/// Bytes per sample that graphs read: pointer to the hidden state, random number, missing target.
constexpr std::int64_t kDrawRow = 8 + 2 * 4;
/// The share of the free memory that pages may take when a session begins.
constexpr std::int64_t kPageShare = 8, kPageShareOf = 10;
constexpr std::int64_t piece(std::int64_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }
}  // namespace device_sizes

/// The names of the uses of memory, as they appear in `rollcall plan` and in errors when a device
/// has no room.
namespace device_items {
constexpr const char *kWeights = "weights in bf16", *kShare = "share of weights, moments and sums",
                     *kWay = "sums and weights on their way to shares and back",
                     *kMicroBatch = "a micro-batch", *kSampling = "sampling",
                     *kUpload = "tokens and tables";
}  // namespace device_items

/// Bytes of a policy's weights as the device reads them.
struct DeviceWeightBytes {
  std::int64_t panels = 0;   ///< matrices in bf16, rows padded to whole steps
  std::int64_t vectors = 0;  ///< norms and biases in fp32, aligned to 16 bytes
  std::int64_t table = 0;    ///< the embedding, unless it is also the head
  std::int64_t angles = 0;   ///< cosines and sines of rotary embeddings, the same in all versions
  std::int64_t changing() const { return panels + vectors + table; }
  std::int64_t all() const { return changing() + angles; }
};
DeviceWeightBytes device_weight_bytes(const ModelConfig& config);

/// Numbers of elements that the optimizer of one rank holds.
struct DeviceOptimizerSizes {
  std::int64_t share = 0;     ///< elements of fp32 weights, of each moment, and of 64-bit sums
  std::int64_t part = 0;      ///< 64-bit sums of the part in exchange; 0 with a single rank
  std::int64_t window = 0;    ///< fp32 elements, whole blocks of the norm, the same on all ranks
  std::int64_t blocks = 0;    ///< sums of squares of the share's blocks, in fp64
  std::int64_t tensors = 0;   ///< fp32, the largest element of each tensor
  std::int64_t held() const;  ///< bytes of weights, moments and sums
  std::int64_t all() const;   ///< bytes of all these elements
};
/// `share`: elements of the rank's share.
DeviceOptimizerSizes device_optimizer_sizes(const ModelConfig& config, std::int64_t share,
                                            int ranks);

/// The shape of a micro-batch's passes. `kept` is the number of blocks whose rows are kept from the
/// forward pass for the backward pass, or 0 if there is no backward pass. `states` means the
/// backward pass of the head only.
struct DeviceMicroBatchShape {
  std::int64_t rows = 0, targets = 0, sequences = 0, kept = 0;
  bool states = false;
};
/// The rows of a block that its backward pass reads.
std::int64_t device_block_bytes(const ModelConfig& config, std::int64_t rows);
std::int64_t device_micro_batch_bytes(const ModelConfig& config,
                                      const DeviceMicroBatchShape& micro_batch);
/// A step of a session with the inputs of its graphs, without pages.
std::int64_t device_decode_bytes(const ModelConfig& config, std::int64_t rows);
/// Stream-ordered memory that kernels take in passes over `rows` rows.
std::int64_t device_scratch_bytes(const ModelConfig& config, std::int64_t rows);
/// What is uploaded for a pass over `rows` rows: tokens, tables and pointers.
std::int64_t device_upload_bytes(const ModelConfig& config, std::int64_t rows);
/// A page of one layer: the keys and values of kernels::kPageKeys positions.
std::int64_t device_page_bytes(const ModelConfig& config);

}  // namespace rollcall::model
