// What two sets of weights of one model differ in, and models made of several: which weights
// training moved, means of checkpoints, the largest moves alone.
#pragma once

#include "model/tensors/weights.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace rollcall::model {

/// How many of a tensor's weights moved.
struct TensorChange {
  std::string name;
  std::int64_t count = 0, changed = 0;
  double sparsity() const { return count == 0 ? 1.0 : 1.0 - double(changed) / double(count); }
};

/// Has a weight moved by more than `tolerance`? A NaN on either side has, unless the bits are the
/// same.
bool moved(float before, float after, double tolerance);

/// By tensor, the number of weights with |after - before| > tolerance (arXiv:2505.11711: 1e-5 in
/// bf16).
std::vector<TensorChange> changes(const WeightLayout& layout, std::span<const float> before,
                                  std::span<const float> after, double tolerance);

/// Keeps of `after - before` the share `keep` with the largest |value| over the whole model, times
/// `scale`, and leaves the other weights of `after` at `before` (update-selective merge of DLER,
/// arXiv:2510.15110: keep 0.25, scale 0.7). Of equal moves the first in layout order stay.
void keep_largest_changes(const WeightLayout& layout, std::span<const float> before, double keep,
                          double scale, std::span<float> after);

/// sum += share * weights, in double by element; the sum begins as zeros.
void add_share(std::span<const float> weights, double share, std::span<double> sum);

}  // namespace rollcall::model
