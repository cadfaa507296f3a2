// The derivative of the loss with respect to token columns, and the log-probs at which it was
// taken.
#pragma once

#include "model/engine/policy.hpp"

#include <vector>

namespace rollcall::run {

/// A backward pass starts from `by`. Its forward pass must give `at_logprob` again, bit for bit,
/// because the derivative would be different at other log-probs.
struct LossDerivative {
  model::ColumnGradient by{};  ///< [T] derivative of the loss by each column
  /// [T] log-probs of the tokens (nats). It is empty in supervised steps, because their derivative
  /// is the same at all log-probs.
  std::vector<float> at_logprob{};
};

}  // namespace rollcall::run
