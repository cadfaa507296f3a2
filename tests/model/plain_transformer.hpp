// The same transformer a second time, in double and plain ATen operations: what forward and
// gradient are checked against.
#pragma once

#include "model/engine/policy.hpp"

#include <ATen/ATen.h>

#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace rollcall::model::testing {

class PlainTransformer {
 public:
  PlainTransformer(const ModelConfig& config, std::span<const float> weights);
  /// Adds up the columns of every sequence: logprob and entropy [M], with gradient.
  std::pair<at::Tensor, at::Tensor> columns(const MicroBatch& micro_batch,
                                            double temperature) const;
  /// Gradient of sum(dlogprob * logprob + dentropy * entropy) in layout order.
  std::vector<double> gradient(const MicroBatch& micro_batch, double temperature,
                               const ColumnGradient& columns) const;
  /// For each sequence the gradient of the sum of its targets' log-probs by the states that predict
  /// them, summed over these: [S, hidden].
  std::vector<double> logprob_gradients(const MicroBatch& micro_batch, double temperature) const;

 private:
  at::Tensor states(const MicroBatch& micro_batch,
                    std::size_t sequence) const;      ///< [T, hidden] after the final norm
  at::Tensor logits(const at::Tensor& states) const;  ///< [T, V]
  at::Tensor block(std::int64_t layer, const at::Tensor& x) const;
  at::Tensor attention(const std::string& prefix, const at::Tensor& h) const;
  at::Tensor project(const std::string& module, const at::Tensor& x) const;
  at::Tensor norm(const std::string& name, const at::Tensor& x) const;
  at::Tensor turned(const at::Tensor& x) const;

  ModelConfig config_;
  WeightLayout layout_;
  std::map<std::string, at::Tensor> weights_;
};

}  // namespace rollcall::model::testing
