// What a policy says about each token of a text, as columns with one number per token.
#pragma once

#include <vector>

namespace rollcall {

/// The numbers of T tokens, in the order of the tokens. A column that was not computed is empty.
struct TokenColumns {
  std::vector<float> logprob{};  ///< [T] log-prob of the token (nats)
  std::vector<float> entropy{};  ///< [T] entropy of the distribution at the token's position (nats)
  /// [T] sum of share * log-prob (nats) over the tokens that were drawn at the token's position and
  /// differ from it (MissedTokens). It is 0 if there are none.
  std::vector<float> miss_logprob{};
};

}  // namespace rollcall
