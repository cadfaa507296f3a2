// Positions and visible keys of packed sequences.
#include "model/packed_rows.hpp"

#include "base/error.hpp"

#include <algorithm>

namespace rollcall::model {

PackedSequences::PackedSequences(std::span<const std::int64_t> offsets, std::int64_t kv_width)
    : offsets_(offsets.begin(), offsets.end()), rows_(std::size_t(offsets.back())), kv_width_(kv_width) {
  positions_.reserve(rows_.size());
  for (std::size_t s = 0; s + 1 < offsets_.size(); ++s) {
    for (std::int64_t row = offsets_[s]; row < offsets_[s + 1]; ++row) positions_.push_back(std::int32_t(row - offsets_[s]));
  }
}

std::span<const kernels::AttentionRow> PackedSequences::place(std::size_t, const float* k, const float* v) {
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    const std::int64_t first = (std::int64_t(row) - positions_[row]) * kv_width_;
    rows_[row] = {k + first, v + first, positions_[row] + 1, kv_width_};
  }
  return rows_;
}

void expect_leaf(const Policy::Packed& policy, const Leaf& leaf) {
  expect(!leaf.offsets.empty() && leaf.offsets.front() == 0 && leaf.offsets.back() == std::int64_t(leaf.tokens.size()), "offsets cover the leaf");
  for (std::size_t s = 0; s + 1 < leaf.offsets.size(); ++s) {
    const std::int64_t length = leaf.offsets[s + 1] - leaf.offsets[s];
    expect(length >= 0 && length <= policy.config.max_position_embeddings, "a leaf's sequences fit the model's positions");
  }
  const auto in_vocabulary = [&](std::int32_t token) { return token >= 0 && token < policy.config.vocab_size; };
  expect(std::all_of(leaf.tokens.begin(), leaf.tokens.end(), in_vocabulary), "a leaf's tokens are in the vocabulary");
  std::size_t s = 0;
  std::int64_t last = -1;
  for (const std::int64_t target : leaf.targets) {
    expect(target > last && target < leaf.offsets.back(), "targets ascend inside the leaf");
    while (leaf.offsets[s + 1] <= target) ++s;
    expect(target > leaf.offsets[s], "the first token of a sequence is no target");
    last = target;
  }
}

}  // namespace rollcall::model
