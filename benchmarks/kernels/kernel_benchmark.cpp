// How fast are the kernels of a small model on one core? linear in GFLOP/s and as a fraction of the
// FMA peak measured in the same run;
// attention in keys per second and token columns in logits per second. `best` is the set that the
// job would select.
#include "fma_peak.hpp"
#include "kernels/kernel_set.hpp"
#include "kernels/packing.hpp"

#include <benchmark/benchmark.h>

#include <numeric>
#include <string>
#include <vector>

namespace rollcall::kernels {
namespace {

std::vector<float> ramp(std::int64_t count) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) values[i] = static_cast<float>(i % 17) / 17.0F - 0.5F;
  return values;
}

void linear(benchmark::State& state, const KernelSet* set) {
  const std::int64_t n = state.range(0), k = state.range(1), o = state.range(2);
  ExecutionContext context;
  Workspace operands;  // aligned, as the model's packed weights are
  float* packed =
      operands.floats(static_cast<std::size_t>(packed_bytes_fp32(o, k)) / sizeof(float));
  pack_fp32(ramp(o * k).data(), o, k, packed);
  const std::vector<float> x = ramp(n * k);
  std::vector<float> y(static_cast<std::size_t>(n * o));
  for (auto _ : state) {
    const Product product{packed, o, nullptr, y.data()};
    set->linear(context, x.data(), n, k, &product, 1, 1, 0, panels_of(o));
    benchmark::ClobberMemory();
  }
  static const double peak = fma_peak_gflops();
  const double gflop = 2e-9 * static_cast<double>(n * k * o * state.iterations());
  state.counters["GFLOP/s"] = benchmark::Counter(gflop, benchmark::Counter::kIsRate);
  state.counters["of_peak"] = benchmark::Counter(gflop / peak, benchmark::Counter::kIsRate);
}

/// Every row of a batch reads `keys` keys of its own cache: a decode step.
void attention(benchmark::State& state, const KernelSet* set) {
  const std::int64_t n = 64, keys = state.range(0);
  const HeadShape shape{4, 2, state.range(1)};
  const std::int64_t kv_row = shape.kv_heads * shape.head_dim;
  ExecutionContext context;
  const std::vector<float> q = ramp(n * shape.q_heads * shape.head_dim), kv = ramp(kv_row);
  const std::int64_t page_floats =
      set->page_bytes(shape) / static_cast<std::int64_t>(sizeof(float));
  std::vector<float> cache(static_cast<std::size_t>(n * pages_of(keys) * page_floats));
  std::vector<const void*> table;
  for (std::int64_t p = 0; p < n * pages_of(keys); ++p) {
    table.push_back(cache.data() + p * page_floats);
    for (std::int64_t slot = 0; slot < kPageKeys; ++slot)
      set->store_position(kv.data(), kv.data(), shape, slot, cache.data() + p * page_floats);
  }
  std::vector<float> out(q.size());
  std::vector<AttentionRow> rows;
  for (std::int64_t i = 0; i < n; ++i) rows.push_back({table.data() + i * pages_of(keys), keys});
  for (auto _ : state) {
    set->attention(context, q.data(), rows.data(), n, shape, {0, 0, shape.kv_heads}, out.data());
    benchmark::ClobberMemory();
  }
  const double seen = static_cast<double>(n * shape.q_heads * keys * state.iterations());
  state.counters["keys/s"] = benchmark::Counter(seen, benchmark::Counter::kIsRate);
  state.counters["GFLOP/s"] = benchmark::Counter(4e-9 * seen * static_cast<double>(shape.head_dim),
                                                 benchmark::Counter::kIsRate);
}

void attention_backward(benchmark::State& state, const KernelSet* set) {
  const std::int64_t t = state.range(0);
  const HeadShape shape{4, 2, state.range(1)};
  ExecutionContext context;
  const std::vector<float> q = ramp(t * shape.q_heads * shape.head_dim),
                           k = ramp(t * shape.kv_heads * shape.head_dim);
  std::vector<float> dq(q.size()), dk(k.size()), dv(k.size());
  for (auto _ : state) {
    set->attention_backward(context, q.data(), k.data(), k.data(), q.data(), t, t, shape, 0,
                            shape.kv_heads, dq.data(), dk.data(), dv.data());
    benchmark::ClobberMemory();
  }
  const double seen = static_cast<double>(shape.q_heads * t * (t + 1) / 2 * state.iterations());
  state.counters["keys/s"] = benchmark::Counter(seen, benchmark::Counter::kIsRate);
}

void token_columns(benchmark::State& state, const KernelSet* set) {
  const std::int64_t n = 64, v = state.range(0);
  ExecutionContext context;
  const std::vector<float> logits = ramp(n * v);
  std::vector<std::int32_t> target(static_cast<std::size_t>(n));
  std::iota(target.begin(), target.end(), 0);
  std::vector<float> logprob(target.size()), entropy(target.size()), lse(target.size());
  for (auto _ : state) {
    set->token_columns(context, logits.data(), n, v, 1.25F, target.data(), logprob.data(),
                       entropy.data(), lse.data(), nullptr, nullptr);
    benchmark::ClobberMemory();
  }
  state.counters["logits/s"] = benchmark::Counter(static_cast<double>(n * v * state.iterations()),
                                                  benchmark::Counter::kIsRate);
}

void register_set(const char* name) {
  const KernelSet* set = kernels_by_name(name);
  if (!set) return;
  const std::string suffix = std::string("/") + name;
  // {rows, inputs, outputs}: decode and training batches of a model of hidden 128, intermediate
  // 352, vocabulary 360; then larger ones.
  auto* bench = benchmark::RegisterBenchmark(("linear" + suffix).c_str(), linear, set);
  for (const std::int64_t n : {1, 8, 16, 64, 256}) bench->Args({n, 128, 352});
  bench->Args({256, 352, 128})
      ->Args({256, 128, 360})
      ->Args({64, 512, 512})
      ->Args({256, 1024, 1024});
  benchmark::RegisterBenchmark(("attention" + suffix).c_str(), attention, set)
      ->Args({10, 32})
      ->Args({40, 32})
      ->Args({200, 32})
      ->Args({200, 128});
  benchmark::RegisterBenchmark(("attention_backward" + suffix).c_str(), attention_backward, set)
      ->Args({40, 32})
      ->Args({200, 64});
  benchmark::RegisterBenchmark(("token_columns" + suffix).c_str(), token_columns, set)
      ->Args({360})
      ->Args({32000});
}

}  // namespace
}  // namespace rollcall::kernels

int main(int argc, char** argv) {
  benchmark::AddCustomContext("selected_kernels", rollcall::kernels::selected_kernels().name);
  benchmark::AddCustomContext("fma_peak_gflops",
                              std::to_string(rollcall::kernels::fma_peak_gflops()));
  for (const char* name : {"avx512", "avx2", "scalar"}) rollcall::kernels::register_set(name);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
}
