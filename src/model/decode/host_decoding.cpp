// The decode engine on the host: the operations of the backend, and a sampler for each member of
// its team.
#include "model/engine/backend.hpp"
#include "model/engine/engine.hpp"

#include <algorithm>
#include <limits>

namespace rollcall::model {
namespace {

class HostDecoding final : public DecodeEngine {
 public:
  HostDecoding(const PolicyModel::Packed& policy, const SamplingParams& sampling, Team& team,
               std::int64_t rows)
      : shape_(page_shape(policy)),
        config_(policy.config),
        scale_(inverse_temperature(sampling.temperature)),
        backend_(policy.config, team, rows) {
    for (int member = 0; member < team.size(); ++member)
      samplers_.emplace_back(sampling, config_.vocab_size, *shape_.kernels);
  }

  PageMemory page_memory() override { return {}; }
  std::int64_t most_page_bytes() const override { return std::numeric_limits<std::int64_t>::max(); }
  void copy_positions(const std::byte* from, std::int64_t count, std::byte* to) override {
    for (std::int64_t layer = 0; layer < config_.num_hidden_layers; ++layer)
      shape_.kernels->copy_positions(from + layer * shape_.bytes(), shape_.heads, count,
                                     to + layer * shape_.bytes());
  }
  const float* hidden(const PolicyModel::Packed& policy, StepRows& rows) override {
    return backend_.hidden(policy, rows.tokens, rows.positions, rows);
  }
  std::shared_ptr<const float> keep(const float* hidden) override {
    std::shared_ptr<float> copy(new float[std::size_t(config_.hidden_size)],
                                std::default_delete<float[]>());
    std::copy_n(hidden, config_.hidden_size, copy.get());
    return copy;
  }

  std::vector<SampledToken> draw(const PolicyModel::Packed& policy,
                                 std::span<const SampleRequest> draws) override {
    std::vector<const float*> rows;
    std::vector<std::size_t> first_draws;  // the first draw from each row
    for (std::size_t i = 0; i < draws.size(); ++i)
      if (i == 0 || draws[i].hidden != draws[i - 1].hidden)
        rows.push_back(draws[i].hidden), first_draws.push_back(i);
    first_draws.push_back(draws.size());
    std::vector<SampledToken> drawn(draws.size());
    backend_.logits(
        policy, rows, [&](std::size_t first, std::size_t count, const float* logits, const float*) {
          // A row is still in the cache when tokens are sampled from it.
          backend_.team().deal(std::int64_t(count), [&](int member, std::int64_t i) {
            RowSampler& with = samplers_[std::size_t(member)];
            with.read(backend_.context(member), logits + i * config_.vocab_size, scale_);
            const std::size_t row = first + std::size_t(i);
            for (std::size_t d = first_draws[row]; d < first_draws[row + 1]; ++d)
              drawn[d] = with.draw(draws[d].u);
          });
        });
    return drawn;
  }

 private:
  PageShape shape_;
  ModelConfig config_;
  float scale_;
  Backend backend_;
  std::vector<RowSampler> samplers_;  ///< [member]
};

}  // namespace

std::unique_ptr<DecodeEngine> make_decode_engine(const PolicyModel::Packed& policy,
                                                 const SamplingParams& sampling, Team& team,
                                                 std::int64_t rows) {
  if (runs_on_device(policy)) return make_device_decoding(policy, sampling, rows);
  return std::make_unique<HostDecoding>(policy, sampling, team, rows);
}

}  // namespace rollcall::model
