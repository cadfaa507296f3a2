// Exceptions of the pieces that act at every update over the rollouts that it trains: mini-batches
// change what they do, as their cards say.
#include "exceptions.hpp"

namespace rollcall::objective::test {

std::vector<Exception> excused_updates() {
  const std::string chosen =
      "it chooses among the tokens of each update, by the policy that the update starts from";
  const std::string counted = "its denominator is the update's own";
  return {
      {"weight clip_cov", "mini_batches", chosen},
      {"weight down_sample", "mini_batches", chosen},
      {"weight top_entropy", "mini_batches", chosen},
      {"regularizer kl_cov", "mini_batches", chosen},
      {"regularizer kl_hinge", "mini_batches",
       "it measures how far the policy has gone on each update's rollouts"},
      {"regularizer positive_nll", "mini_batches", counted},
      {"recipe trpa", "mini_batches", "its pairs are averaged over those of each update"},
      {"reward kl_controller", "mini_batches", "its coefficient moves with every update"},
  };
}

}  // namespace rollcall::objective::test
