// How many mathematical answers one core judges a second, on the generated pairs of the tests.
#include "reward/math/decide.hpp"
#include "reward/math/pairs.hpp"

#include <benchmark/benchmark.h>

#include <string>

namespace {

using namespace rollcall::reward::math;

/// `category`: its place in the list, or one behind the last for all in turn.
void judge(benchmark::State& state) {
  const auto names = testing::categories();
  const auto category = std::size_t(state.range(0));
  std::vector<testing::Pair> pairs;
  for (std::uint64_t n = 0; pairs.size() < 2200; ++n) {
    auto pair = testing::make_pair(1, n);
    if (category == names.size() || pair.category == names[category])
      pairs.push_back(std::move(pair));
  }
  for (auto _ : state)
    for (const auto& pair : pairs) benchmark::DoNotOptimize(decide(pair.reference, pair.answer));
  state.SetItemsProcessed(std::int64_t(state.iterations() * pairs.size()));
  state.SetLabel(category == names.size() ? "all" : names[category]);
}

BENCHMARK(judge)->DenseRange(0, long(testing::categories().size()))->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
