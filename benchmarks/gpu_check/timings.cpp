// Medians of repeated calls between events of the device. Inputs of a memory-bound call are larger
// than the caches, or several that take turns.
#include "benchmarks/gpu_check/timings.hpp"

#include "benchmarks/gpu_check/cublaslt.hpp"
#include "benchmarks/gpu_check/transformer.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <random>

namespace rollcall::gpu_check {
namespace {

using kernels::Bf16;
namespace device = kernels::cuda;

constexpr double kGemmFloor = 0.5, kStreamFloor = 0.7;  // of cuBLASLt at 1,024 rows; of bandwidth
                                                        // at 16
constexpr int kCalls = 16;                              // of a product
constexpr std::size_t kTurns = std::size_t{256} << 20;  // bytes of inputs that take turns: more
                                                        // than any cache

/// Seconds of a call, call(turn), of several that follow each other, so that the host is ahead: the
/// median of 9 after one to warm up.
double seconds(const std::function<void(int)>& call, int calls = 1) {
  cudaEvent_t begin, end;
  cudaEventCreate(&begin), cudaEventCreate(&end);
  std::vector<double> all;
  call(0);
  for (int turn = 1; turn <= 9; ++turn) {
    cudaEventRecord(begin, nullptr);
    for (int i = 0; i < calls; ++i) call(turn * calls + i);
    cudaEventRecord(end, nullptr);
    cudaEventSynchronize(end);
    float ms = 0.0F;
    cudaEventElapsedTime(&ms, begin, end);
    all.push_back(double(ms) * 1e-3 / calls);
  }
  cudaEventDestroy(begin), cudaEventDestroy(end);
  std::nth_element(all.begin(), all.begin() + 4, all.end());
  return all[4];
}

/// Normal numbers in bf16, the same 1M of them again and again: products of equal numbers are
/// faster.
void fill(void* memory, std::size_t bytes) {
  static const std::vector<Bf16> numbers = [] {
    std::mt19937 engine(3);
    std::normal_distribution<float> normal;
    std::vector<Bf16> made(std::size_t{1} << 20);
    for (Bf16& x : made) x = kernels::to_bf16(normal(engine));
    return made;
  }();
  for (std::size_t at = 0; at < bytes; at += numbers.size() * sizeof(Bf16))
    copy(static_cast<std::byte*>(memory) + at, numbers.data(),
         std::min(bytes - at, numbers.size() * sizeof(Bf16)));
}

std::string text(const char* format, double a, double b = 0) {
  char line[160];
  std::snprintf(line, sizeof line, format, a, b);
  return line;
}
std::string of_peak(double flops, const Device& d) {
  return d.peak > 0 ? text(", %.0f %% of peak", 100 * flops / d.peak) : "";
}

/// Products of a layer over the same rows, which are one launch.
struct Product {
  const char* name;
  std::int64_t outputs, inputs;
};
/// Of Qwen2.5-7B (its config.json): hidden 3584, inner 18944, 28 query heads and 4 key heads of
/// 128.
constexpr Product kSevenB[] = {{"7B q, k, v", 4608, 3584},
                               {"7B o", 3584, 3584},
                               {"7B gate, up", 37888, 3584},
                               {"7B down", 3584, 18944}};

Line product_line(const Device& d, const Product& p, std::int64_t rows) {
  const std::size_t bytes = std::size_t(p.outputs * p.inputs) * sizeof(Bf16);
  const int turns = int(std::max<std::size_t>(kTurns / bytes, 1)) + 1;
  std::vector<std::shared_ptr<void>> weights;
  for (int i = 0; i < turns; ++i)
    weights.push_back(device_memory(bytes)), fill(weights.back().get(), bytes);
  const auto x = device_memory(std::size_t(rows * p.inputs) * sizeof(Bf16)),
             y = device_memory(std::size_t(rows * p.outputs) * sizeof(float));
  fill(x.get(), std::size_t(rows * p.inputs) * sizeof(Bf16));
  kernels::ExecutionContext context;
  const int slices = p.outputs == 3584 ? 8 : 1;  // the output and down projections are cut in
                                                 // slices (engine numerics)
  const auto of = [&](int turn) {
    return static_cast<const Bf16*>(weights[std::size_t(turn % turns)].get());
  };
  const auto parts = device_memory(
      std::size_t(device::sliced_floats(rows, p.outputs, slices)) * sizeof(float) + 1);
  const double own = seconds(
      [&](int turn) {
        device::product(context, {static_cast<const Bf16*>(x.get()), rows, p.inputs},
                        {of(turn), p.outputs, p.inputs}, nullptr, slices,
                        static_cast<float*>(y.get()), static_cast<float*>(parts.get()));
      },
      kCalls);
  std::vector<std::function<void()>> theirs;
  for (int i = 0; i < turns; ++i)
    theirs.push_back(
        cublaslt_product(x.get(), of(i), static_cast<float*>(y.get()), rows, p.outputs, p.inputs));
  const double other = theirs.front()
                           ? seconds([&](int turn) { theirs[std::size_t(turn % turns)](); }, kCalls)
                           : 0.0;
  const double flops = 2.0 * double(rows * p.outputs * p.inputs) / own;
  const double streamed =
      double(bytes + std::size_t(rows) * std::size_t(2 * p.inputs + 4 * p.outputs)) / own;
  Line line{std::string(p.name) + text(", %.0f rows", double(rows)), ""};
  if (rows <= 16) {
    line.figures =
        text("%.2f TB/s, %.0f %% of bandwidth", streamed * 1e-12, 100 * streamed / d.bandwidth);
    line.met = streamed >= kStreamFloor * d.bandwidth;
  } else {
    line.figures = text("%.0f TFLOP/s", flops * 1e-12) + of_peak(flops, d);
    line.met = other == 0.0 || other >= kGemmFloor * own;
  }
  line.figures +=
      other > 0 ? text(", %.0f %% of cuBLASLt", 100 * other / own) : ", cuBLASLt not seen";
  return line;
}

struct Pages {
  std::shared_ptr<void> memory, table;
  std::vector<kernels::AttentionRow> rows;
};
/// Sequences of `keys` positions each.
Pages pages_of(std::int64_t sequences, std::int64_t keys, kernels::HeadShape heads) {
  const std::int64_t each = kernels::pages_of(keys), bytes = device::page_bytes(heads);
  Pages pages{device_memory(std::size_t(sequences * each * bytes)),
              device_memory(std::size_t(sequences * each) * sizeof(void*)),
              {}};
  cudaMemset(pages.memory.get(), 0x3C, std::size_t(sequences * each * bytes));
  std::vector<const void*> places;
  for (std::int64_t p = 0; p < sequences * each; ++p)
    places.push_back(static_cast<std::byte*>(pages.memory.get()) + p * bytes);
  copy(pages.table.get(), places.data(), places.size() * sizeof(void*));
  for (std::int64_t s = 0; s < sequences; ++s)
    pages.rows.push_back({static_cast<const void* const*>(pages.table.get()) + s * each, keys});
  return pages;
}

Line decode_attention(const Device& d, std::int64_t sequences, std::int64_t keys) {
  const kernels::HeadShape heads{28, 4, 128};
  const Pages pages = pages_of(sequences, keys, heads);
  Arena arena(std::size_t(sequences) * 28 * 128 * 8 + (std::size_t{1} << 20));
  auto* q = arena.take<float>(sequences * 28 * 128);
  auto* out = arena.take<float>(sequences * 28 * 128);
  cudaMemset(q, 0, std::size_t(sequences) * 28 * 128 * 4);
  const auto* rows = arena.upload<kernels::AttentionRow>(pages.rows);
  kernels::ExecutionContext context;
  const double own = seconds([&](int) {
    device::attention(context, q, rows, sequences, heads, {0, 0, 4}, out);
  });
  const double streamed = double(sequences * keys * 2 * 4 * 128 * 2) / own;
  return {text("7B attention, %.0f rows of %.0f keys", double(sequences), double(keys)),
          text("%.2f TB/s, %.0f %% of bandwidth", streamed * 1e-12, 100 * streamed / d.bandwidth)};
}

Line backward_attention(const Device& d, std::int64_t t) {
  const kernels::HeadShape heads{28, 4, 128};
  Arena arena(std::size_t(t) * (4 * 28 + 6 * 4) * 128 * 4 + (std::size_t{1} << 20));
  const auto take = [&](std::int64_t count) {
    auto* memory = arena.take<float>(count);
    cudaMemset(memory, 0, std::size_t(count) * 4);
    return memory;
  };
  float *q = take(t * 3584), *dout = take(t * 3584), *dq = take(t * 3584), *k = take(t * 512),
        *v = take(t * 512), *dk = take(t * 512), *dv = take(t * 512);
  kernels::ExecutionContext context;
  const std::vector<device::AttentionSequence> sequence{{-1, 0, 0, t}};
  const device::AttentionTileTable table = device::attention_tiles(sequence);
  const device::AttentionTiles tiles{arena.upload<device::AttentionSequence>(sequence),
                                     arena.upload<device::AttentionTiles::Tile>(table.tiles),
                                     std::int64_t(table.tiles.size()), nullptr};
  const double own = seconds([&](int) {
    device::attention_backward(context, q, k, v, dout, t, heads, tiles, dq, dk, dv);
  });
  // five products of half a square, two operations each
  const double flops = 5.0 * double(t) * double(t) * 28 * 128 / own;
  return {text("7B attention backward, %.0f tokens", double(t)),
          text("%.0f TFLOP/s", flops * 1e-12) + of_peak(flops, d)};
}

std::vector<Line> lines_of(const Device& d, const Shape& shape) {
  constexpr std::int64_t kSequences = 64, kContext = 256, kTrained = 8;
  std::vector<Line> lines;
  Transformer model(shape, kSequences, std::size_t{6} << 30);
  Tokens step, micro_batch;
  std::vector<std::int32_t> target;
  for (std::int32_t s = 0; s < kSequences; ++s) step.add(s, s, kContext - 1);
  for (std::int32_t s = 0; s < kTrained; ++s)
    for (std::int32_t t = 0; t < kContext; ++t)
      micro_batch.add((s + t) % 1000, s, t), target.push_back(t % 1000);
  const std::vector<float> u(kSequences, 0.5F), coefficient(target.size(), -1e-3F);
  // Pages that nobody has filled hold whatever they held: the time does not depend on it.
  const double weights = double(model.parameters()) * sizeof(Bf16);
  const auto decode_line = [&](const char* how, double decode) {
    lines.push_back({shape.name + how,
                     text("%.0f tokens/s, weights read at %.0f %% of bandwidth",
                          double(kSequences) / decode, 100 * weights / decode / d.bandwidth)});
  };
  decode_line(", decode of 64 sequences at 256", seconds([&](int) { model.draw(step, u); }));
  const auto graph = model.draw_graph(step, u);
  decode_line(", the same as one graph", seconds([&](int) { graph.launch(); }));
  const double learn = seconds([&](int) { model.learn(micro_batch, target, coefficient); }),
               update = seconds([&](int) { model.update(0.0, 1.0); });
  const double flops = 6.0 * double(model.parameters()) * double(micro_batch.count()) / learn;
  lines.push_back({shape.name + ", forward and backward of 2048 tokens",
                   text("%.0f tokens/s", double(micro_batch.count()) / learn) + of_peak(flops, d)});
  const double moved =
      double(model.parameters()) *
      (2 * (8 + 4) + 4 + 8 + 16 +
       14);  // the sum read twice, its norm, zeros into it; AdamW reads 16 and writes 14 bytes
  lines.push_back(
      {shape.name + ", AdamW and publishing",
       text("%.1f ms, %.0f %% of bandwidth", update * 1e3, 100 * moved / update / d.bandwidth)});
  return lines;
}

}  // namespace

Device measured_device() {
  cudaDeviceProp properties{};
  cudaGetDeviceProperties(&properties, 0);
  Device d{properties.name, properties.major * 10 + properties.minor};
  // Dense bf16 with fp32 sums, of NVIDIA's data sheets: A100 312, H100 SXM and H200 989, H100 PCIe
  // 756, L40S 362 TFLOP/s.
  const std::pair<const char*, double> peaks[] = {{"A100", 312e12},
                                                  {"H100 PCIe", 756e12},
                                                  {"H100", 989e12},
                                                  {"H200", 989e12},
                                                  {"L40S", 362e12}};
  for (const auto& [name, peak] : peaks)
    if (d.peak == 0 && d.name.find(name) != std::string::npos) d.peak = peak;
  const std::size_t bytes = std::size_t{1} << 30;
  const auto from = device_memory(bytes), to = device_memory(bytes);
  const double copied = seconds([&](int) {
    cudaMemcpyAsync(to.get(), from.get(), bytes, cudaMemcpyDeviceToDevice, nullptr);
  });
  d.bandwidth = 2.0 * double(bytes) / copied;
  return d;
}

std::vector<Line> product_lines(const Device& d) {
  std::vector<Line> lines;
  for (const std::int64_t rows : {1024, 16})
    for (const Product& p : kSevenB) lines.push_back(product_line(d, p, rows));
  return lines;
}

std::vector<Line> attention_lines(const Device& d) {
  return {decode_attention(d, 64, 4096), decode_attention(d, 8, 32768),
          backward_attention(d, 2048)};
}

std::vector<Line> model_lines(const Device& d) {
  // config.json of HuggingFaceTB/SmolLM2-135M and Qwen/Qwen2.5-0.5B; the second without its biases.
  std::vector<Line> lines = lines_of(d, {"SmolLM2 135M", 576, 1536, 30, {9, 3, 64}, 49152, 512});
  for (const Line& line : lines_of(d, {"0.5B", 896, 4864, 24, {14, 2, 64}, 151936, 512}))
    lines.push_back(line);
  return lines;
}

}  // namespace rollcall::gpu_check
