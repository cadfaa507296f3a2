// A mask with one bit per weight, which says whether the weight trains. It is made from the weights
// that moved between two checkpoints.
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

/// A range of a model's weights, only some of which train. Its bit m_i is 1 if an earlier training
/// run moved weight i, and the gradient g becomes m * g (arXiv:2505.11711: reinforcement learning
/// finetunes a subnetwork).
class GradientMask {
 public:
  /// A mask of the range [begin, end) of a layout, in which no weight trains yet. `begin` is a
  /// multiple of kernels::kNormBlock.
  GradientMask(std::int64_t begin, std::int64_t end);
  void let_train(std::int64_t at);  ///< the weight at this place of the layout
  bool trains(std::int64_t at) const {
    const auto i = std::size_t(at - begin_);
    return (words_[i / 64] >> (i % 64) & 1U) != 0;
  }
  std::int64_t begin() const { return begin_; }
  std::int64_t end() const { return end_; }
  std::int64_t trained() const;  ///< the number of weights that train

  /// Zeroes the gradient [n] of weights that do not train. It begins at index `at` of the layout.
  void apply(std::int64_t at, std::span<float> gradient) const;
  /// Restores the previous bits of those weights [n] that do not train.
  void keep_frozen(std::int64_t at, std::span<const float> before, std::span<float> weights) const;

  /// [blocks] the XXH3 of each block of kernels::kNormBlock weights. The hashes of all shares, put
  /// together, are those of the whole mask.
  std::vector<std::int64_t> block_hashes() const;

 private:
  std::int64_t begin_, end_;
  std::vector<std::uint64_t> words_;
};

/// A mask of the weights in [begin, end) that moved by more than `tolerance` between two sets of
/// files, as defined by moved() in weight_changes.hpp. Padding does not train. Only that part of
/// the files is read.
GradientMask changed_weights(const WeightLayout& layout, const WeightFiles& before,
                             const WeightFiles& after, double tolerance, std::int64_t begin,
                             std::int64_t end);

/// SHA-256 of block_hashes() of a whole model.
std::string mask_digest(std::span<const std::int64_t> block_hashes);

}  // namespace rollcall::model
