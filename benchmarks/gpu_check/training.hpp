// A training of the quickstart's size on the device: a small transformer learns to sort digit
// strings, first by example, then by GRPO.
#pragma once

#include "benchmarks/gpu_check/transformer.hpp"

#include <functional>

namespace rollcall::gpu_check {

struct TrainingPlan {
  Shape shape{"quickstart", 128, 352, 3, {4, 2, 32}, 16, 32};
  std::int64_t examples = 256, supervised_steps = 60, prompts = 64, rollouts = 8, steps = 60,
               judged = 512, longest = 12, new_tokens = 16;
};

struct TrainingResult {
  double first_loss = 0, last_loss = 0;  ///< of the supervised steps, nats a token
  double before = 0, after = 0;   ///< share of right answers to prompts that were not trained on,
                                  ///< before and after GRPO
  double largest_difference = 0;  ///< |log-prob of generation - of the training forward|, which is
                                  ///< to be 0
  std::int64_t tokens = 0;        ///< generated in GRPO's steps
  double seconds = 0;             ///< of them
};
/// `say` hears of each tenth of the way.
TrainingResult train(const TrainingPlan& plan, const std::function<void(const std::string&)>& say);

}  // namespace rollcall::gpu_check
