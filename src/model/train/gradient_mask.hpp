// Which weights train: one bit for each, from what moved between two checkpoints of a model.
#pragma once

#include "model/tensors/weight_files.hpp"
#include "model/tensors/weights.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace rollcall::model {

/// A part of a model's weights, of which only some train: m_i is 1 where training moved weight i,
/// and
/// the gradient becomes m * g (arXiv:2505.11711, the subnetwork that reinforcement learning
/// finetunes).
class GradientMask {
 public:
  /// Of [begin, end) of a layout, and nothing of it trains yet. `begin`: a multiple of
  /// kernels::kNormBlock.
  GradientMask(std::int64_t begin, std::int64_t end);
  void let_train(std::int64_t at);
  bool trains(std::int64_t at) const {
    const auto i = std::size_t(at - begin_);
    return (words_[i / 64] >> (i % 64) & 1U) != 0;
  }
  std::int64_t begin() const { return begin_; }
  std::int64_t end() const { return end_; }
  std::int64_t trained() const;  ///< weights that train

  /// Zeroes what does not train of a gradient [n] that begins at `at` of the layout.
  void apply(std::int64_t at, std::span<float> gradient) const;
  /// Puts weights [n] that do not train back to what they were, to the bit.
  void keep_frozen(std::int64_t at, std::span<const float> before, std::span<float> weights) const;

  /// [blocks of kernels::kNormBlock weights] XXH3 of each: shares of one mask have the blocks of
  /// the whole.
  std::vector<std::int64_t> block_hashes() const;

 private:
  std::int64_t begin_, end_;
  std::vector<std::uint64_t> words_;
};

/// The weights of [begin, end) that moved by more than `tolerance` between two sets of files, as
/// moved()
/// of weight_changes.hpp says; padding does not train. Only that part of the files is read.
GradientMask changed_weights(const WeightLayout& layout, const WeightFiles& before,
                             const WeightFiles& after, double tolerance, std::int64_t begin,
                             std::int64_t end);

/// SHA-256 of block_hashes() of a whole model.
std::string mask_digest(std::span<const std::int64_t> block_hashes);

}  // namespace rollcall::model
