// The derivative of the loss by token columns, with the log-probs at which it was taken.
#pragma once

#include "model/engine/policy.hpp"

#include <vector>

namespace rollcall::run {

/// A backward pass starts from `by`. Its forward pass must give `at_logprob` again, bit for bit,
/// because at other log-probs the derivative would be another one.
struct LossDerivative {
  model::ColumnGradient by{};  ///< [T] derivative of the loss by each column
  /// [T] log-probs of the tokens (nats). It is empty in supervised steps, whose derivative is the
  /// same at all log-probs.
  std::vector<float> at_logprob{};
};

}  // namespace rollcall::run
