// The decode engine on the device. Tokens, tables of pages and random numbers are sent to it, and
// sampled tokens with their columns come back.
#include "base/errors/error.hpp"
#include "model/device/device_backend.hpp"
#include "model/device/device_graphs.hpp"
#include "model/engine/engine.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

namespace rollcall::model {
namespace {

namespace cuda = kernels::cuda;

static_assert(device_sizes::kStepRow == sizeof(kernels::AttentionRow) + 3 * sizeof(std::int32_t));
static_assert(device_sizes::kDrawRow == sizeof(void*) + sizeof(float) + sizeof(std::int32_t));

/// Pages are allocated in chunks, this many of which fill the device's memory. Each allocation
/// waits for all queued work, so there should be few.
constexpr std::int64_t kChunks = 128;

AlignedArray<std::byte> device_pages(std::size_t bytes) {
  const auto memory = cuda::device_memory(bytes, "keys and values");
  return AlignedArray<std::byte>(std::span(memory.get(), bytes), memory);
}

/// u in [0, 1) in fp32. A number that would round to 1 becomes the largest float below 1.
float below_one(double u) { return std::min(float(u), std::nextafter(1.0F, 0.0F)); }

/// What the graphs of a session read and write. It keeps its addresses, because graphs contain
/// them: the inputs come first in the arena, then the hidden states, and the rest of a pass after
/// them.
struct GraphMemory {
  DeviceInput rows, draws;         ///< inputs of a step's rows, and of its draws
  std::int32_t* drawn;             ///< [3 * count] tokens, log-probs and entropies of draws
  std::byte* filling_page;         ///< a page for rows that only fill a graph up
  DeviceArena::Mark before_rows;   ///< a pass over rows takes memory from here on
  float* hidden;                   ///< [most_rows, hidden]
  DeviceArena::Mark before_draws;  ///< draws take memory from here on

  /// `page_bytes`: bytes of a page over all layers.
  GraphMemory(DeviceBackend& backend, const ModelConfig& config, std::int64_t most_rows,
              std::int64_t page_bytes)
      : GraphMemory(backend.device(), reserved(backend.arena(), config, most_rows),
                    config.hidden_size, most_rows, page_bytes) {}

 private:
  GraphMemory(Device& device, DeviceArena& arena, std::int64_t width, std::int64_t most_rows,
              std::int64_t page_bytes)
      : rows(device, arena, most_rows * device_sizes::kStepRow),
        draws(device, arena, most_rows * device_sizes::kDrawRow),
        drawn(arena.take<std::int32_t>(3 * most_rows)),
        filling_page(arena.take<std::byte>(page_bytes)),
        before_rows(arena.mark()),
        hidden(arena.take<float>(most_rows * width)),
        before_draws(arena.mark()) {}
  static DeviceArena& reserved(DeviceArena& arena, const ModelConfig& config,
                               std::int64_t most_rows) {
    arena.reserve(device_decode_bytes(config, most_rows));
    return arena;
  }
};

/// A step is two pieces of work, rows through the blocks and draws. The launches of each are kept
/// as graphs. The draws' pointers and random numbers are prepared and sent while the rows are
/// computed. The rows of the next step wait for the draws, because draws end sequences.
class DeviceDecoding final : public DecodeEngine {
 public:
  DeviceDecoding(const PolicyModel::Packed& policy, const SamplingParams& sampling,
                 std::int64_t rows)
      : shape_(page_shape(policy)),
        layers_(policy.config.num_hidden_layers),
        width_(policy.config.hidden_size),
        vocab_(policy.config.vocab_size),
        most_rows_(rows),
        greedy_(sampling.temperature == 0.0),
        rules_{.ids = sampling.vocab_size > 0 ? std::min(sampling.vocab_size, vocab_) : vocab_,
               .inverse_temperature = inverse_temperature(sampling.temperature),
               .top_k = sampling.top_k,
               .top_p = float(sampling.top_p)},
        backend_(Device::own()),
        memory_(backend_, policy.config, rows, layers_ * shape_.bytes()) {}

  PageMemory page_memory() override {
    return {device_pages, std::max(device_sizes::kChunk, cuda::free_bytes() / kChunks)};
  }
  std::int64_t most_page_bytes() const override {
    return cuda::free_bytes() / device_sizes::kPageShareOf * device_sizes::kPageShare;
  }  // the rest of the memory is for activations and for passes over micro-batches
  void copy_positions(const std::byte* from, std::int64_t, std::byte* to) override {
    const auto turn = backend_.device().turn();
    cuda::copy_on_device(backend_.context(), to, from, std::size_t(layers_ * shape_.bytes()));
  }
  const float* hidden(const PolicyModel::Packed& policy, StepRows& rows) override {
    const auto turn = backend_.device().turn();
    const OnDevice& model = on_device(backend_.device(), policy);
    const auto places = rows.rows();
    expect(std::int64_t(places.size()) <= most_rows_,
           "a step has no more rows than its engine was made for");
    backend_.arena().give_back(memory_.before_rows);
    const auto of_one_sequence = [](const kernels::AttentionRow& a,
                                    const kernels::AttentionRow& b) { return a.pages == b.pages; };
    // Steps with several rows of one sequence, as for prompts and appended tokens, use no graph.
    if (std::adjacent_find(places.begin(), places.end(), of_one_sequence) != places.end()) {
      backend_.hidden(model, upload_rows(backend_.device(), rows.tokens, rows.positions, rows));
      return memory_.hidden;
    }
    const PassRows input = send(rows);
    graphs_.run(policy.on_device, StepGraphs::Work::rows, input.rows, backend_.context(),
                [&] { backend_.hidden(model, input); });
    memory_.rows.read();
    return memory_.hidden;
  }
  std::shared_ptr<const float> keep(const float* hidden) override {
    const auto turn = backend_.device().turn();
    const std::size_t bytes = std::size_t(width_) * sizeof(float);
    const auto memory = cuda::device_memory(bytes, device_items::kSampling);
    cuda::copy_on_device(backend_.context(), memory.get(), hidden, bytes);
    return std::shared_ptr<const float>(memory, reinterpret_cast<const float*>(memory.get()));
  }

  std::vector<SampledToken> draw(const PolicyModel::Packed& policy,
                                 std::span<const SampleRequest> draws) override {
    const auto turn = backend_.device().turn();
    Device& device = backend_.device();
    const OnDevice& model = on_device(device, policy);
    expect(std::int64_t(draws.size()) <= most_rows_, "a step has no more draws than rows");
    const std::int64_t count = filled(std::int64_t(draws.size()));
    std::vector<std::int32_t> words(static_cast<std::size_t>(3 * count));
    if (!draws.empty()) {
      const Sent sent = send(draws, count);
      backend_.arena().give_back(memory_.before_draws);
      graphs_.run(policy.on_device, StepGraphs::Work::draws, count, backend_.context(),
                  [&] { queue(model, sent, count); });
      memory_.draws.read();
      device.download(memory_.drawn, std::span(words));
    }
    device.wait();
    device.recycle();
    std::vector<SampledToken> drawn;
    const auto column = [&](std::size_t number, std::size_t i) {
      return std::bit_cast<float>(words[number * std::size_t(count) + i]);
    };
    for (std::size_t i = 0; i < draws.size(); ++i)
      drawn.push_back({.token = words[i], .logprob = column(1, i), .entropy = column(2, i)});
    return drawn;
  }

 private:
  std::int64_t filled(std::int64_t rows) const { return std::min(filled_rows(rows), most_rows_); }

  /// Sends one row of each sequence, and rows that pad the graph. Those have token 0, each at its
  /// own position in a page that serves no other purpose.
  PassRows send(const StepRows& rows) {
    const auto own = rows.rows();
    const auto count = std::size_t(filled(std::int64_t(own.size())));
    const void* const filling_table[] = {memory_.filling_page};
    std::vector<kernels::AttentionRow> places(own.begin(), own.end());
    while (places.size() < count)
      places.push_back({filling_table, std::int64_t(places.size() - own.size()) + 1});
    places = with_device_tables(backend_.device(), std::move(places));
    std::vector<std::int32_t> tokens = rows.tokens, positions = rows.positions, source(count);
    tokens.resize(count), positions.resize(count);
    std::iota(source.begin(), source.end(), 0);
    memory_.rows.begin();
    PassRows input{.rows = std::int64_t(count), .stored = std::int64_t(count), .memory = &rows};
    input.places = memory_.rows.put(std::span<const kernels::AttentionRow>(places));
    input.tokens = memory_.rows.put(std::span<const std::int32_t>(tokens));
    input.positions = memory_.rows.put(std::span<const std::int32_t>(positions));
    input.source = memory_.rows.put(std::span<const std::int32_t>(source));
    memory_.rows.send();
    return input;
  }

  /// The inputs of draws on the device, [count] of each.
  struct Sent {
    const float* const* hidden;
    const float* u;
    const std::int32_t* none;  ///< targets of -1, for columns without a target
  };
  /// Sends the inputs of draws. Draws that only pad the graph have the first draw's state.
  Sent send(std::span<const SampleRequest> draws, std::int64_t count) {
    std::vector<const float*> hidden(static_cast<std::size_t>(count), draws.front().hidden);
    std::vector<float> u(hidden.size());
    const std::vector<std::int32_t> none(hidden.size(), -1);
    for (std::size_t i = 0; i < draws.size(); ++i)
      hidden[i] = draws[i].hidden, u[i] = below_one(draws[i].u);
    memory_.draws.begin();
    const Sent sent{memory_.draws.put(std::span<const float* const>(hidden)),
                    memory_.draws.put(std::span<const float>(u)),
                    memory_.draws.put(std::span<const std::int32_t>(none))};
    memory_.draws.send();
    return sent;
  }

  /// Queues the draws, whose tokens, log-probs and entropies, [count] of each, go to memory_.drawn.
  void queue(const OnDevice& model, const Sent& sent, std::int64_t count) {
    DeviceArena& arena = backend_.arena();
    auto* const logprob = reinterpret_cast<float*>(memory_.drawn + count);
    float *const entropy = logprob + count, *const lse = arena.take<float>(count);
    backend_.logits(
        model, sent.hidden, count,
        [&](std::int64_t first, std::int64_t n, const float* logits, const float*) {
          auto* blocks =
              arena.take<kernels::BlockMass>(n * (kernels::vocabulary_blocks(vocab_) + 1));
          backend_.columns(logits, n, vocab_, rules_.inverse_temperature, sent.none + first,
                           {logprob + first, entropy + first, lse + first}, blocks);
          cuda::sample(backend_.context(), logits, n, vocab_, rules_, blocks,
                       greedy_ ? nullptr : sent.u + first, memory_.drawn + first, logprob + first);
        });
  }

  PageShape shape_;
  std::int64_t layers_, width_, vocab_, most_rows_;
  bool greedy_;
  cuda::DrawRules rules_;
  DeviceBackend backend_;
  GraphMemory memory_;
  StepGraphs graphs_;  // last: it is destroyed before the memory that its graphs read
};

}  // namespace

std::unique_ptr<DecodeEngine> make_device_decoding(const PolicyModel::Packed& policy,
                                                   const SamplingParams& sampling,
                                                   std::int64_t rows) {
  check_sampling(sampling);
  const auto turn = Device::own().turn();
  return std::make_unique<DeviceDecoding>(policy, sampling, rows);
}

}  // namespace rollcall::model
