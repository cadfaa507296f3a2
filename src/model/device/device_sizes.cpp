// Sums over the layout, and over the operations of a pass in the order of src/model/block, with
// what each takes (device_backend.cpp, device_micro_batches.cpp, device_backward.cpp).
#include "model/device/device_sizes.hpp"

#include "kernels/cuda/device_kernels.hpp"
#include "model/block/head.hpp"
#include "model/block/shape.hpp"
#include "model/engine/policy.hpp"

#include <algorithm>
#include <initializer_list>

namespace rollcall::model {
namespace {

using namespace device_sizes;
namespace cuda = kernels::cuda;

constexpr std::int64_t kFloat = sizeof(float), kHalf = sizeof(kernels::Bf16),
                       kSum = sizeof(std::int64_t);

std::int64_t filled(std::int64_t count, std::int64_t step) {
  return (count + step - 1) / step * step;
}
std::int64_t floats(std::int64_t rows, std::int64_t width) { return piece(rows * width * kFloat); }
std::int64_t halves(std::int64_t rows, std::int64_t width) {
  return piece(rows * cuda::stepped(width) * kHalf);
}

struct Widths {
  explicit Widths(const ModelConfig& c)
      : hidden(c.hidden_size),
        inner(c.intermediate_size),
        q(c.num_attention_heads * c.head_dim),
        kv(c.num_key_value_heads * c.head_dim),
        qk(c.qk_norm) {}
  std::int64_t hidden, inner, q, kv;
  bool qk;
};

/// Bytes of the rounded rows that the products of a pass read.
std::int64_t rounded_bytes(const Widths& w, std::int64_t rows) {
  return halves(rows, std::max({w.hidden, w.q, w.inner}));
}
/// Bytes of partial sums during a product of a block. The sums of o and down, which have `hidden`
/// outputs, are cut into 8 slices.
std::int64_t product_bytes(const Widths& w, std::int64_t rows) {
  return piece(cuda::sliced_floats(rows, w.hidden, 8) * kFloat);
}

/// Bytes during the backward pass of products [outputs, inputs] of the same rows: the gradients by
/// the rows and by the weights, with their transposed and rounded operands.
std::int64_t through(std::int64_t rows, std::int64_t inputs,
                     std::initializer_list<std::int64_t> all) {
  std::int64_t biases = 0, weights = 0, back = 0;
  for (const std::int64_t outputs : all) {
    const std::int64_t most = std::min(std::max<std::int64_t>(kWeightFloats / inputs, 1), outputs);
    weights = std::max(weights, halves(outputs, rows) + floats(most, inputs));
    back = std::max(back, halves(inputs, outputs) + halves(rows, outputs));
    biases += floats(1, outputs);
  }
  return halves(inputs, rows) +
         std::max(weights + biases, biases + (all.size() > 1 ? floats(rows, inputs) : 0) + back);
}

/// Bytes of the logits of some rows and of everything computed from them.
std::int64_t head_bytes(const ModelConfig& c, std::int64_t rows) {
  const std::int64_t count = std::min(rows, kHeadRows);
  return 2 * floats(count, c.hidden_size) + halves(count, c.hidden_size) +
         floats(count, c.vocab_size) +
         piece(count * (kernels::vocabulary_blocks(c.vocab_size) + 1) *
               std::int64_t(sizeof(kernels::BlockMass))) +
         piece(cuda::column_floats(count, c.vocab_size) * kFloat);
}

/// Bytes of the head's gradient with respect to its inputs and, `with_weights`, to its weights.
std::int64_t state_bytes(const ModelConfig& c, std::int64_t m, bool with_weights) {
  const std::int64_t hidden = c.hidden_size, outputs = std::min(kHeadOutputs, c.vocab_size);
  const std::int64_t both = 2 * floats(m, hidden) + floats(m, outputs) + halves(m, hidden),
                     back = halves(hidden, outputs) + halves(m, outputs);
  if (!with_weights) return both + back;
  return both + halves(hidden, m) +
         std::max(halves(outputs, m) +
                      floats(std::min(std::max<std::int64_t>(kWeightFloats / hidden, 1), outputs),
                             hidden),
                  back);
}

std::int64_t backward_bytes(const ModelConfig& c, std::int64_t n, std::int64_t m) {
  const Widths w(c);
  const std::int64_t head =
      std::max(state_bytes(c, m, true), 3 * floats(m, w.hidden) + floats(1, w.hidden));
  const std::int64_t norm = floats(1, w.hidden) + floats(n, w.hidden),
                     inner = 3 * floats(n, w.inner);
  const std::int64_t feed = std::max(
      {floats(n, w.inner) + through(n, w.inner, {w.hidden}),
       inner + floats(n, w.hidden) + std::max(through(n, w.hidden, {w.inner, w.inner}), norm)});
  const std::int64_t heads = 2 * floats(n, w.q) + 2 * floats(n, w.kv),
                     plain = w.qk ? floats(n, w.q) + floats(n, w.kv) : 0;
  const std::int64_t attention =
      std::max({floats(n, w.q) + through(n, w.q, {w.hidden}),
                heads + plain + floats(n, w.hidden) +
                    std::max(through(n, w.hidden, {w.q, w.kv, w.kv}), norm)});
  return floats(n, w.hidden) + std::max({head, feed, attention});
}

}  // namespace

DeviceWeightBytes device_weight_bytes(const ModelConfig& c) {
  DeviceWeightBytes bytes;
  bytes.panels = piece(packed_bytes(c, kernels::plain_kernels(kernels::kCudaBf16Sliced8)));
  for (const Slice& slice : weight_layout(c).slices)
    bytes.vectors += slice.shape.size() == 1 ? filled(slice.count, 4) * kFloat : 0;
  bytes.table = c.tie_word_embeddings ? 0 : c.vocab_size * cuda::stepped(c.hidden_size) * kHalf;
  for (const Rope& rope : model_shape(c).ropes)
    bytes.angles += rope.positions * rope.head_dim * kFloat;
  return bytes;
}

std::int64_t DeviceOptimizerSizes::held() const { return share * (3 * kFloat + kSum); }
std::int64_t DeviceOptimizerSizes::all() const {
  return held() + part * kSum + window * kFloat + blocks * std::int64_t(sizeof(double)) +
         tensors * kFloat + kSum;
}

DeviceOptimizerSizes device_optimizer_sizes(const ModelConfig& c, std::int64_t share, int ranks) {
  const auto block = std::int64_t(kernels::kNormBlock);
  const WeightLayout layout = trained_layout(c);
  std::int64_t row = 0, part = 0;
  for (const Slice& slice : layout.slices) row = std::max(row, slice.shape.back());
  if (ranks > 1) {
    const BackwardParts parts = backward_parts(model_shape(c));
    for (const TensorRange& tensors : parts.tensors)
      part = std::max(part, layout.range_of(tensors).size());
  }
  // Small models are cut into windows as well.
  const std::int64_t window =
      filled(std::max(std::min(kWindow, (layout.size + 3) / 4), row), block);
  return {share, part, window, (share + block - 1) / block, std::int64_t(layout.slices.size())};
}

std::int64_t device_block_bytes(const ModelConfig& c, std::int64_t n) {
  const Widths w(c);
  return 4 * floats(n, w.hidden) + 2 * floats(n, w.q) + 2 * floats(n, w.kv) +
         (w.qk ? floats(n, w.q) + floats(n, w.kv) : 0) + 3 * floats(n, w.inner);
}

std::int64_t device_micro_batch_bytes(const ModelConfig& c,
                                      const DeviceMicroBatchShape& micro_batch) {
  const auto [n, m, sequences, kept, states] = micro_batch;
  const Widths w(c);
  const std::int64_t pages = piece((n / kernels::kPageKeys + 2 * sequences) * device_page_bytes(c));
  const std::int64_t before = pages + 3 * floats(m, 1) + floats(m, w.hidden) + floats(n, w.hidden) +
                              rounded_bytes(w, n),
                     block = device_block_bytes(c, n);
  const std::int64_t head =
      states ? std::max(head_bytes(c, m), state_bytes(c, std::min(m, kHeadRows), false))
             : head_bytes(c, m);
  const std::int64_t forward = std::max(block + product_bytes(w, n), head);
  if (kept == 0) return before + forward;
  const std::int64_t again = kept < c.num_hidden_layers ? block + product_bytes(w, n) : 0,
                     inputs = floats((c.num_hidden_layers - kept + 1) * n, w.hidden);
  return before + inputs + kept * block +
         std::max({product_bytes(w, n), head_bytes(c, m), again + backward_bytes(c, n, m)});
}

std::int64_t device_decode_bytes(const ModelConfig& c, std::int64_t n) {
  const Widths w(c);
  const std::int64_t attention = floats(n, w.hidden) + 2 * floats(n, w.q) + 2 * floats(n, w.kv) +
                                 (w.qk ? floats(n, w.q) + floats(n, w.kv) : 0) +
                                 product_bytes(w, n);
  const std::int64_t feed = floats(n, w.hidden) + 3 * floats(n, w.inner) + product_bytes(w, n);
  const std::int64_t of_graphs = piece(n * kStepRow) + piece(n * kDrawRow) + floats(n, 3) +
                                 piece(c.num_hidden_layers * device_page_bytes(c));
  return of_graphs + floats(n, w.hidden) +
         std::max(rounded_bytes(w, n) + std::max(attention, feed), floats(n, 1) + head_bytes(c, n));
}

std::int64_t device_scratch_bytes(const ModelConfig& c, std::int64_t rows) {
  const std::int64_t of_rows = cuda::norm_backward_floats(rows, c.hidden_size);
  const std::int64_t of_heads =
      c.qk_norm ? cuda::norm_backward_floats(rows * c.num_attention_heads, c.head_dim) : 0;
  const std::int64_t heads = c.num_attention_heads + c.num_key_value_heads,
                     width = cuda::head_width(
                         {c.num_attention_heads, c.num_key_value_heads, c.head_dim});
  const std::int64_t attention =
      2 * rows * (c.num_attention_heads * kFloat + heads * width * kHalf);
  // Memory of the backward passes of attention, of norms of rows, and of norms of heads.
  return std::max({attention, of_rows * kFloat, of_heads * kFloat});
}

std::int64_t device_upload_bytes(const ModelConfig& c, std::int64_t rows) {
  // Sequences are assumed to have kMicroBatchSequence rows, which are stored a second time in the
  // first pages of the sequences that continue them. Eight other sequences attend to them.
  const std::int64_t each =
      (1 + kernels::kPageKeys / kMicroBatchSequence) * std::int64_t(sizeof(kernels::AttentionRow)) +
      5 * std::int64_t(sizeof(void*)) + 10 * kFloat +  // tables, places, pointers, tokens
      std::int64_t(sizeof(cuda::AttentionSequence) + sizeof(cuda::AttentionTiles::Tile)) +
      8 * kFloat;
  const std::int64_t bytes =
      filled(rows * (each + (c.vocab_size + kHeadOutputs - 1) / kHeadOutputs * kFloat), kChunk);
  return bytes > kChunk ? bytes + kChunk : bytes;  // the ends of chunks stay unused
}

std::int64_t device_page_bytes(const ModelConfig& c) {
  return cuda::page_bytes({c.num_attention_heads, c.num_key_value_heads, c.head_dim});
}

}  // namespace rollcall::model
