// Differences between two sets of weights of one model, and models made from several: which weights
// training moved, means of checkpoints, and the largest moves only.
#pragma once

#include "model/tensors/weights.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace rollcall::model {

/// How many weights a tensor has, and how many of them moved.
struct TensorChange {
  std::string name;
  std::int64_t count = 0, changed = 0;
  double sparsity() const { return count == 0 ? 1.0 : 1.0 - double(changed) / double(count); }
};

/// Whether a weight moved by more than `tolerance`. A NaN on either side counts as a move, unless
/// both sides have the same bits.
bool moved(float before, float after, double tolerance);

/// For each tensor the number of weights with |after - before| > tolerance (arXiv:2505.11711 uses
/// 1e-5 in bf16).
std::vector<TensorChange> changes(const WeightLayout& layout, std::span<const float> before,
                                  std::span<const float> after, double tolerance);

/// Keeps the largest moves only. The share `keep` of `after - before` with the largest |value| over
/// the whole model stays, multiplied by `scale`, and all other weights of `after` return to
/// `before` (update-selective merge of DLER, arXiv:2510.15110, with keep 0.25 and scale 0.7). Among
/// equal moves the first ones in layout order stay.
void keep_largest_changes(const WeightLayout& layout, std::span<const float> before, double keep,
                          double scale, std::span<float> after);

/// sum += share * weights, element by element, in double. A new sum starts as zeros.
void add_share(std::span<const float> weights, double share, std::span<double> sum);

}  // namespace rollcall::model
