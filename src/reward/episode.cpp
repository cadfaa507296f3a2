// The verdict on a conversation that its environment did not decide: the task is not solved.
#include "reward/graders.hpp"
#include "reward/reference.hpp"

namespace rollcall::reward {

Score judge_episode(const Prompt&, const Response&) {
  return score_of({0.0, 0.0}, {}, "the environment did not say that the task is solved");
}

}  // namespace rollcall::reward
