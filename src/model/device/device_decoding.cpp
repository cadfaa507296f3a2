// A decode session's rows and draws on the device: tokens, page tables and random numbers go over, tokens with their columns come back.
#include "model/device/device_backend.hpp"
#include "model/engine.hpp"

#include <algorithm>
#include <cmath>

namespace rollcall::model {
namespace {

namespace cuda = kernels::cuda;

constexpr std::int64_t kChunks = 128;  // in which the device's memory would be full of pages: each costs a call that waits for all work

AlignedArray<std::byte> device_pages(std::size_t bytes) {
  const auto memory = cuda::device_memory(bytes);
  return AlignedArray<std::byte>(std::span(memory.get(), bytes), memory);
}

/// u in [0, 1) in fp32: what would round to 1 stays below.
float below_one(double u) { return std::min(float(u), std::nextafter(1.0F, 0.0F)); }

class DeviceDecoding final : public DecodeEngine {
 public:
  DeviceDecoding(const Policy::Packed& policy, const SamplingParams& sampling, std::int64_t rows)
      : shape_(page_shape(policy)),
        layers_(policy.config.num_hidden_layers),
        width_(policy.config.hidden_size),
        vocab_(policy.config.vocab_size),
        greedy_(sampling.temperature == 0.0),
        rules_{.ids = sampling.vocab_size > 0 ? std::min(sampling.vocab_size, vocab_) : vocab_,
               .inverse_temperature = inverse_temperature(sampling.temperature),
               .top_k = sampling.top_k,
               .top_p = float(sampling.top_p)},
        backend_(Device::own()) {
    check_sampling(sampling);
    const auto turn = backend_.device().turn();
    backend_.arena().reserve(device_decode_bytes(policy.config, rows));
  }

  PageMemory page_memory() override { return {device_pages, std::max(device_sizes::kChunk, cuda::free_bytes() / kChunks)}; }
  std::int64_t most_page_bytes() const override {
    return cuda::free_bytes() / device_sizes::kPageShareOf * device_sizes::kPageShare;
  }  // the rest for activations, and what passes over leaves take
  void copy_positions(const std::byte* from, std::int64_t, std::byte* to) override {
    const auto turn = backend_.device().turn();
    cuda::copy_on_device(backend_.context(), to, from, std::size_t(layers_ * shape_.bytes()));
  }
  const float* hidden(const Policy::Packed& policy, StepRows& rows) override {
    const auto turn = backend_.device().turn();
    backend_.arena().give_back({});
    return backend_.hidden(on_device(backend_.device(), policy), rows.tokens, rows.positions, rows).values;
  }
  std::shared_ptr<const float> keep(const float* hidden) override {
    const auto turn = backend_.device().turn();
    const std::size_t bytes = std::size_t(width_) * sizeof(float);
    const auto memory = cuda::device_memory(bytes);
    cuda::copy_on_device(backend_.context(), memory.get(), hidden, bytes);
    return std::shared_ptr<const float>(memory, reinterpret_cast<const float*>(memory.get()));
  }

  std::vector<Drawn> draw(const Policy::Packed& policy, std::span<const Draw> draws) override {
    const auto turn = backend_.device().turn();
    Device& device = backend_.device();
    const auto all = std::int64_t(draws.size());
    const OnDevice& model = on_device(device, policy);
    const auto mark = backend_.arena().mark();
    auto* token = backend_.arena().take<std::int32_t>(all);
    float *logprob = backend_.arena().take<float>(all), *entropy = backend_.arena().take<float>(all), *lse = backend_.arena().take<float>(all);
    std::vector<const float*> rows;
    for (const Draw& draw : draws) rows.push_back(draw.hidden);
    backend_.logits(model, rows, [&](std::int64_t first, std::int64_t count, const float* logits, const float*) {
      const auto part = draws.subspan(std::size_t(first), std::size_t(count));
      const DeviceBackend::Columns columns{logprob + first, entropy + first, lse + first};
      sample(part, logits, columns, token + first);
    });
    std::vector<std::int32_t> tokens(draws.size());
    std::vector<float> logprobs(draws.size()), entropies(draws.size());
    device.download(token, std::span(tokens));
    device.download(logprob, std::span(logprobs));
    device.download(entropy, std::span(entropies));
    device.wait();
    device.recycle();
    backend_.arena().give_back(mark);
    std::vector<Drawn> drawn;
    for (std::size_t i = 0; i < draws.size(); ++i) drawn.push_back({tokens[i], logprobs[i], entropies[i]});
    return drawn;
  }

 private:
  void sample(std::span<const Draw> draws, const float* logits, const DeviceBackend::Columns& columns, std::int32_t* token) {
    const auto count = std::int64_t(draws.size());
    const std::vector<std::int32_t> none(draws.size(), -1);
    std::vector<float> u;
    for (const Draw& draw : draws) u.push_back(below_one(draw.u));
    auto* blocks = backend_.arena().take<kernels::BlockMass>(count * (kernels::vocabulary_blocks(vocab_) + 1));
    backend_.columns(logits, count, vocab_, rules_.inverse_temperature, backend_.device().upload(std::span<const std::int32_t>(none)), columns, blocks);
    cuda::sample(backend_.context(), logits, count, vocab_, rules_, blocks, greedy_ ? nullptr : backend_.device().upload(std::span<const float>(u)), token,
                 columns.logprob);
  }

  PageShape shape_;
  std::int64_t layers_, width_, vocab_;
  bool greedy_;
  cuda::DrawRules rules_;
  DeviceBackend backend_;
};

}  // namespace

std::unique_ptr<DecodeEngine> make_device_decoding(const Policy::Packed& policy, const SamplingParams& sampling, std::int64_t rows) {
  return std::make_unique<DeviceDecoding>(policy, sampling, rows);
}

}  // namespace rollcall::model
