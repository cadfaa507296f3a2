// What this machine can do, and the linear product beside it: memory bandwidth, FMA peak, ATen's
// matrix product.
#include "benchmarks/engine/workloads.hpp"
#include "benchmarks/kernels/fma_peak.hpp"
#include "kernels/kernel_set.hpp"
#include "model/support/aligned_floats.hpp"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <numeric>
#include <thread>
#include <vector>

namespace rollcall::bench {
namespace {

using Clock = std::chrono::steady_clock;
double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

void on_threads(int threads, const std::function<void(int thread)>& work) {
  std::vector<std::exception_ptr> failures(std::size_t(threads), nullptr);
  const auto guarded = [&](int thread) {
    try {
      work(thread);
    } catch (...) {
      failures[std::size_t(thread)] = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> others;
    for (int thread = 1; thread < threads; ++thread)
      others.emplace_back([&, thread] { guarded(thread); });
    guarded(0);
  }
  for (const auto& failure : failures)
    if (failure) std::rethrow_exception(failure);
}

Json linear(const Json& given) {
  const std::int64_t rows = given.at("rows"), inputs = given.at("inputs"),
                     outputs = given.at("outputs"), bytes = given.at("bytes");
  const int threads = given.at("threads");
  const std::string by = given.at("by");
  const bool bf16 = by == "aten_bf16" || by == "rollcall_bf16";
  const std::int64_t copies =
      std::max<std::int64_t>(1, bytes / (inputs * outputs * (bf16 ? 2 : 4)));
  const double flop = 2.0 * double(rows) * double(inputs) * double(outputs) * double(copies);
  if (by.starts_with("rollcall")) {
    // Each thread has outputs of its own, as a team would share them out: the panels of its part of
    // W.
    const kernels::KernelSet& set =
        kernels::selected_kernels(bf16 ? kernels::kBf16Sliced8 : kernels::kFp32FixedOrder);
    const std::int64_t panels = kernels::panels_of(outputs),
                       size = set.packed_bytes(outputs, inputs);
    const model::AlignedFloats w(std::vector<float>(std::size_t(inputs * outputs), 0.01F)),
        x(std::vector<float>(std::size_t(rows * inputs), 0.5F));
    model::AlignedArray<std::byte> packed(std::size_t(size * copies));
    for (std::int64_t copy = 0; copy < copies; ++copy)
      set.pack(w.data(), outputs, inputs, packed.data() + copy * size);
    model::AlignedFloats y(std::size_t(rows * outputs));
    const auto start = Clock::now();
    on_threads(threads, [&](int thread) {
      kernels::ExecutionContext context;
      for (std::int64_t copy = 0; copy < copies; ++copy) {
        const kernels::Product product{packed.data() + copy * size, outputs, nullptr, y.data()};
        set.linear(context, x.data(), rows, inputs, &product, 1, 1, panels * thread / threads,
                   panels * (thread + 1) / threads);
      }
    });
    return {{"seconds", since(start)}, {"flop", flop}, {"bytes", size * copies}, {"set", set.name}};
  }
  at::set_num_threads(threads);
  const auto type = by == "aten_bf16" ? at::kBFloat16 : at::kFloat;
  const at::Tensor weights = at::full({copies, outputs, inputs}, 0.01, type),
                   x = at::full({rows, inputs}, 0.5, type);
  const auto start = Clock::now();
  for (std::int64_t copy = 0; copy < copies; ++copy) at::linear(x, weights[copy]);
  return {{"seconds", since(start)}, {"flop", flop}};
}

Json stream(const Json& given) {
  const std::int64_t bytes = given.at("bytes"), times = given.value("new", 1);
  const int threads = given.at("threads");
  const auto words = std::size_t(bytes / 8);
  const model::AlignedArray<std::uint64_t> memory(std::vector<std::uint64_t>(words, 3));
  std::atomic<std::uint64_t> total{0};
  const auto start = Clock::now();
  on_threads(threads, [&](int thread) {
    const auto *first = memory.data() + words * std::size_t(thread) / std::size_t(threads),
               *end = memory.data() + words * std::size_t(thread + 1) / std::size_t(threads);
    for (std::int64_t time = 0; time < times; ++time)
      total += std::accumulate(first, end, std::uint64_t(time));
  });
  return {{"seconds", since(start)},
          {"bytes", bytes * times},
          {"tokens", times},
          {"sum", total.load()}};
}

Json fma(const Json& given) {
  std::vector<double> gflops(std::size_t(given.at("threads").get<int>()));
  on_threads(int(gflops.size()),
             [&](int thread) { gflops[std::size_t(thread)] = kernels::fma_peak_gflops(); });
  const double all = std::accumulate(gflops.begin(), gflops.end(), 0.0);
  return {{"seconds", 1.0}, {"flop", all * 1e9}};
}

}  // namespace rollcall::bench
