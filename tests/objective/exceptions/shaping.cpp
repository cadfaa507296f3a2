// Exceptions of the pieces that shape rewards.
#include "exceptions.hpp"

namespace rollcall::objective::test {

std::vector<Exception> excused_shaping() {
  const std::string shaped =
      "equal verifier rewards differ once length, likelihood or truncation is rewarded too";
  std::vector<Exception> all;
  for (const std::string name :
       {"kl_in_reward", "zero_truncated", "pass_rate_length", "history_length", "decaying_exit",
        "triangular_length", "repetition", "diversity", "degenerate", "length_target",
        "cosine_length"}) {
    all.push_back({"reward " + name, "equal_rewards", shaped});
  }
  all.push_back({"recipe dapo_overlong", "equal_rewards", shaped});
  all.push_back({"reward answer_share", "equal_rewards",
                 "the verifier's rewards are not read: answers differ where they are equal"});
  all.push_back({"reward majority_vote", "equal_rewards",
                 "the verifier's rewards are not read: answers differ where they are equal"});
  all.push_back({"reward gradient_novelty", "equal_rewards",
                 "answers that are all right or all wrong still differ by their gradients"});
  all.push_back({"reward confidence", "equal_rewards",
                 "the verifier's rewards are not read: entropies differ where they are equal"});
  return all;
}

}  // namespace rollcall::objective::test
