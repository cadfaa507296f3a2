// How long does the objective take beside the model? One step of 2^20 tokens in 1,024 rollouts,
// loss and derivative, on one thread.
#include "objective/objective.hpp"

#include <ATen/Parallel.h>
#include <benchmark/benchmark.h>

#include <algorithm>
#include <numeric>

namespace {

using namespace rollcall::objective;

constexpr std::int64_t kRollouts = 1024, kGroup = 8, kTokens = 1 << 20;

/// Uneven lengths around the mean of 1,024: 512, 513, ...; the last rollout takes the rest of
/// kTokens.
StepColumns make_step() {
  const at::Tensor length = at::arange(kRollouts, at::kLong) + 512;
  StepColumns step;
  step.offsets = at::cat({at::zeros({1}, at::kLong), length.cumsum(0)});
  step.offsets.index_put_({kRollouts}, at::scalar_tensor(kTokens, at::kLong));
  step.reward = at::rand({kRollouts}, at::kDouble).round();
  step.group = at::arange(kRollouts, at::kLong).floor_divide(kGroup);
  step.prompt_level = at::zeros({kRollouts}, at::kLong);
  step.old_logprob = -at::rand({kTokens}, at::kDouble);
  step.rollout_logprob = step.old_logprob;
  step.truncated = at::zeros({kRollouts}, at::kBool);
  step.max_new_tokens = 2048;
  return step;
}

/// Arguments: rollouts per micro-batch. 1024: the whole step is one micro-batch.
void grpo(benchmark::State& state) {
  at::set_num_threads(1);
  const StepColumns step = make_step();
  const at::Tensor logprob = step.old_logprob + 0.2 * at::rand({kTokens}, at::kDouble) - 0.1,
                   entropy = -step.old_logprob;
  const auto* offsets = step.offsets.data_ptr<std::int64_t>();
  std::vector<MicroBatchColumns> micro_batches;
  for (std::int64_t first = 0; first < kRollouts; first += state.range(0)) {
    MicroBatchColumns micro_batch{std::vector<std::int64_t>(std::size_t(state.range(0))), {}, {}};
    std::iota(micro_batch.rollouts.begin(), micro_batch.rollouts.end(), first);
    const std::int64_t begin = offsets[first], count = offsets[first + state.range(0)] - begin;
    micro_batch.logprob = logprob.narrow(0, begin, count);
    micro_batch.entropy = entropy.narrow(0, begin, count);
    micro_batches.push_back(std::move(micro_batch));
  }
  const Objective objective("grpo");
  for (auto _ : state) {
    const auto prepared = objective.prepare(step);
    for (const auto& micro_batch : micro_batches)
      benchmark::DoNotOptimize(objective.evaluate(*prepared, micro_batch));
  }
  state.counters["tokens/s"] =
      benchmark::Counter(double(kTokens * state.iterations()), benchmark::Counter::kIsRate);
}
BENCHMARK(grpo)->Arg(1024)->Arg(8)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
