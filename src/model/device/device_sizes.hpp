// What src/model/device takes from the memory of a device, from shapes alone: one table for who
// takes it and for who plans. All in bytes unless it says so.
#pragma once

#include "model/tensors/weights.hpp"

#include <cstdint>

namespace rollcall::model {

namespace device_sizes {
constexpr std::int64_t kHeadRows = 256;      ///< logits exist for so many rows at a time
constexpr std::int64_t kHeadOutputs = 2048;  ///< tokens of the vocabulary whose logits a backward
                                             ///< pass has at a time
constexpr std::int64_t kMicroBatchSequence = 16;  ///< rows of a sequence of a micro-batch, on
                                                  ///< average, at least: what is planned for
/// of a weight's gradient that exist at a time
constexpr std::int64_t kWeightFloats = std::int64_t(1) << 24;
constexpr std::int64_t kWindow = std::int64_t(1) << 22;  ///< elements of a share, or of all
                                                         ///< weights, that exist in another form at
                                                         ///< a time
constexpr std::int64_t kChunk = std::int64_t(1) << 20;   ///< of what passes between host and device
constexpr std::int64_t kAlign = 256;                     ///< on which pieces begin
constexpr std::int64_t kStepRow = 24 + 3 * 4;  ///< of a row of a step, where graphs read it: its
                                               ///< place, token, position and source
constexpr std::int64_t kDrawRow = 8 + 2 * 4;   ///< of a draw: pointer to its hidden state, random
                                               ///< number, no target
/// of what is free when a session begins, for pages of keys and values
constexpr std::int64_t kPageShare = 8, kPageShareOf = 10;
constexpr std::int64_t piece(std::int64_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }
}  // namespace device_sizes

/// What the items of the table are called, by `rollcall plan` and where a device has no room for
/// one.
namespace device_items {
constexpr const char *kWeights = "weights in bf16", *kShare = "share of weights, moments and sums",
                     *kWay = "sums and weights on their way to shares and back",
                     *kMicroBatch = "a micro-batch", *kSampling = "sampling",
                     *kUpload = "tokens and tables";
}  // namespace device_items

/// A policy's weights as its device reads them.
struct DeviceWeightBytes {
  std::int64_t panels = 0;   ///< matrices in bf16, each row filled up to whole steps
  std::int64_t vectors = 0;  ///< norms and biases in fp32, each begun on 16 bytes
  std::int64_t table = 0;    ///< the embedding where it is no head
  std::int64_t angles = 0;   ///< of rotary embeddings, which no version changes
  std::int64_t changing() const { return panels + vectors + table; }
  std::int64_t all() const { return changing() + angles; }
};
DeviceWeightBytes device_weight_bytes(const ModelConfig& config);

/// Elements of what the optimizer of one of several ranks holds.
struct DeviceOptimizerSizes {
  std::int64_t share = 0;  ///< of weights in fp32, two moments, and sums of 64 bits
  std::int64_t part = 0;   ///< sums of the part of the model that is on its way to the shares; none
                           ///< where a rank is alone
  std::int64_t window = 0;  ///< fp32, whole blocks of the norm, the same on all ranks
  std::int64_t blocks = 0;  ///< squares of the share's blocks, in fp64
  std::int64_t tensors = 0;
  std::int64_t held() const;  ///< bytes of weights, moments and sums
  std::int64_t all() const;   ///< bytes
};
DeviceOptimizerSizes device_optimizer_sizes(const WeightLayout& layout, std::int64_t layers,
                                            std::int64_t share, int ranks);

/// A micro-batch; `kept`: blocks whose rows stay from the forward to the backward pass (0: there is
/// none); `states`: the backward pass of the head alone.
struct DeviceMicroBatchShape {
  std::int64_t rows = 0, targets = 0, sequences = 0, kept = 0;
  bool states = false;
};
/// rows of a block that its backward pass reads
std::int64_t device_block_bytes(const ModelConfig& config, std::int64_t rows);
std::int64_t device_micro_batch_bytes(const ModelConfig& config,
                                      const DeviceMicroBatchShape& micro_batch);
/// a step of a session with what its graphs read, pages aside
std::int64_t device_decode_bytes(const ModelConfig& config, std::int64_t rows);
/// Stream-ordered memory that kernels take for passes over so many rows.
std::int64_t device_scratch_bytes(const ModelConfig& config, std::int64_t rows);
/// What passes over on the way to a pass over so many rows: tokens, tables, pointers.
std::int64_t device_upload_bytes(const ModelConfig& config, std::int64_t rows);
/// of keys and values of one layer, kernels::kPageKeys positions
std::int64_t device_page_bytes(const ModelConfig& config);

}  // namespace rollcall::model
