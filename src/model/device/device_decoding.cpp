// A decode session's rows and draws on the device: tokens, page tables and random numbers go over,
// tokens with their columns come back.
#include "base/error.hpp"
#include "model/device/device_backend.hpp"
#include "model/device/device_graphs.hpp"
#include "model/engine/engine.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <optional>

namespace rollcall::model {
namespace {

namespace cuda = kernels::cuda;

static_assert(device_sizes::kStepRow == sizeof(kernels::AttentionRow) + 3 * sizeof(std::int32_t));
static_assert(device_sizes::kDrawRow == sizeof(void*) + sizeof(float) + sizeof(std::int32_t));

constexpr std::int64_t kChunks = 128;  // in which the device's memory would be full of pages: each
                                       // costs a call that waits for all work

AlignedArray<std::byte> device_pages(std::size_t bytes) {
  const auto memory = cuda::device_memory(bytes, "keys and values");
  return AlignedArray<std::byte>(std::span(memory.get(), bytes), memory);
}

/// u in [0, 1) in fp32: what would round to 1 stays below.
float below_one(double u) { return std::min(float(u), std::nextafter(1.0F, 0.0F)); }

/// A step is two pieces of work, rows through the blocks and draws, whose launches are kept as
/// graphs. What graphs read and write stands where it always does: their inputs first in the arena,
/// then hidden states, and the rest of a pass behind them. The draws' pointers and random numbers
/// are made and sent while the rows run; the rows of the next step wait for the draws, since those
/// end sequences.
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
        backend_(Device::own()) {
    DeviceArena& arena = backend_.arena();
    arena.reserve(device_decode_bytes(policy.config, rows));
    step_.emplace(backend_.device(), arena, rows * device_sizes::kStepRow);
    draws_.emplace(backend_.device(), arena, rows * device_sizes::kDrawRow);
    drawn_ = arena.take<std::int32_t>(3 * rows);
    filling_page_ = arena.take<std::byte>(layers_ * shape_.bytes());
    before_rows_ = arena.mark();
    hidden_ = arena.take<float>(rows * width_);
    before_draws_ = arena.mark();
  }

  PageMemory page_memory() override {
    return {device_pages, std::max(device_sizes::kChunk, cuda::free_bytes() / kChunks)};
  }
  std::int64_t most_page_bytes() const override {
    return cuda::free_bytes() / device_sizes::kPageShareOf * device_sizes::kPageShare;
  }  // the rest for activations, and what passes over micro-batches take
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
    backend_.arena().give_back(before_rows_);
    const auto of_one_sequence = [](const kernels::AttentionRow& a,
                                    const kernels::AttentionRow& b) { return a.pages == b.pages; };
    // prompts or others' tokens are among them
    if (std::adjacent_find(places.begin(), places.end(), of_one_sequence) != places.end()) {
      backend_.hidden(model, backend_.upload(rows.tokens, rows.positions, rows));
      return hidden_;
    }
    const DeviceBackend::Input input = send(rows);
    graphs_.run(policy.on_device, StepGraphs::Work::rows, input.rows, backend_.context(),
                [&] { backend_.hidden(model, input); });
    step_->read();
    return hidden_;
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
      backend_.arena().give_back(before_draws_);
      graphs_.run(policy.on_device, StepGraphs::Work::draws, count, backend_.context(),
                  [&] { queue(model, sent, count); });
      draws_->read();
      device.download(drawn_, std::span(words));
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

  /// One row of each sequence, and rows that fill up: token 0 at places of a page that nobody reads
  /// otherwise, one each.
  DeviceBackend::Input send(const StepRows& rows) {
    const auto own = rows.rows();
    const auto count = std::size_t(filled(std::int64_t(own.size())));
    const void* const filling_table[] = {filling_page_};
    std::vector<kernels::AttentionRow> places(own.begin(), own.end());
    while (places.size() < count)
      places.push_back({filling_table, std::int64_t(places.size() - own.size()) + 1});
    places = backend_.with_tables(std::move(places));
    std::vector<std::int32_t> tokens = rows.tokens, positions = rows.positions, source(count);
    tokens.resize(count), positions.resize(count);
    std::iota(source.begin(), source.end(), 0);
    step_->begin();
    DeviceBackend::Input input{
        .rows = std::int64_t(count), .stored = std::int64_t(count), .memory = &rows};
    input.places = step_->put(std::span<const kernels::AttentionRow>(places));
    input.tokens = step_->put(std::span<const std::int32_t>(tokens)),
    input.positions = step_->put(std::span<const std::int32_t>(positions));
    input.source = step_->put(std::span<const std::int32_t>(source));
    step_->send();
    return input;
  }

  /// What draws read, on the device: [count] each.
  struct Sent {
    const float* const* hidden;
    const float* u;
    const std::int32_t* none;  ///< no target
  };
  /// Draws that fill up are made from the first one's hidden state.
  Sent send(std::span<const SampleRequest> draws, std::int64_t count) {
    std::vector<const float*> hidden(static_cast<std::size_t>(count), draws.front().hidden);
    std::vector<float> u(hidden.size());
    const std::vector<std::int32_t> none(hidden.size(), -1);
    for (std::size_t i = 0; i < draws.size(); ++i)
      hidden[i] = draws[i].hidden, u[i] = below_one(draws[i].u);
    draws_->begin();
    const Sent sent{draws_->put(std::span<const float* const>(hidden)),
                    draws_->put(std::span<const float>(u)),
                    draws_->put(std::span<const std::int32_t>(none))};
    draws_->send();
    return sent;
  }

  /// Tokens, log-probs and entropies, [count] each, into drawn_.
  void queue(const OnDevice& model, const Sent& sent, std::int64_t count) {
    DeviceArena& arena = backend_.arena();
    auto* const logprob = reinterpret_cast<float*>(drawn_ + count);
    float *const entropy = logprob + count, *const lse = arena.take<float>(count);
    backend_.logits(
        model, sent.hidden, count,
        [&](std::int64_t first, std::int64_t n, const float* logits, const float*) {
          auto* blocks =
              arena.take<kernels::BlockMass>(n * (kernels::vocabulary_blocks(vocab_) + 1));
          backend_.columns(logits, n, vocab_, rules_.inverse_temperature, sent.none + first,
                           {logprob + first, entropy + first, lse + first}, blocks);
          cuda::sample(backend_.context(), logits, n, vocab_, rules_, blocks,
                       greedy_ ? nullptr : sent.u + first, drawn_ + first, logprob + first);
        });
  }

  PageShape shape_;
  std::int64_t layers_, width_, vocab_, most_rows_;
  bool greedy_;
  cuda::DrawRules rules_;
  DeviceBackend backend_;
  std::optional<DeviceInput> step_, draws_;
  std::int32_t* drawn_;
  std::byte* filling_page_;
  float* hidden_;
  DeviceArena::Mark before_rows_, before_draws_;
  StepGraphs graphs_;  // last: nobody may take back what they read
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
