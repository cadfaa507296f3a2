// AdamW on the device. The gradient of a micro-batch is summed into the ranks' shares one part of
// the model at a time, and the new weights go from the shares to all ranks window by window.
#include "base/errors/error.hpp"
#include "model/device/device_gradient_sum.hpp"
#include "model/train/policy_optimizer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

namespace rollcall::model {
namespace {

namespace cuda = kernels::cuda;

constexpr auto kBlock = std::int64_t(kernels::kNormBlock);

/// Brings the weights of all ranks' shares together, window by window. A checksum over all windows
/// then shows whether every rank has the same ones.
class WeightGather {
 public:
  WeightGather(Device& device, const ShareLayout& shares, Collectives& ranks, DeviceWindow window)
      : device_(&device),
        shares_(&shares),
        ranks_(&ranks),
        window_(std::move(window)),
        checksum_(take_device<std::int64_t>(1, device_items::kWay)) {}

  /// All weights in fp32, whole rows of a matrix at a time: see(slice, first, values, count).
  /// `share`: this rank's share, on the device. Collective. Throws ProtocolError if the ranks
  /// received different weights.
  template <class See>
  void each(const float* share, const See& see);

 private:
  const float* gathered(const float* share, const LayoutRange& range);
  void compare_checksum();

  Device* device_;
  const ShareLayout* shares_;
  Collectives* ranks_;
  DeviceWindow window_;
  std::shared_ptr<std::int64_t> checksum_;
};

template <class See>
void WeightGather::each(const float* share, const See& see) {
  fill_zeros(*device_, checksum_.get(), 1);
  struct Rows {
    std::size_t slice;
    std::int64_t first, count;
  };
  const auto& slices = shares_->layout.slices;
  std::vector<Rows> pieces;  // those of one window are exchanged together, because each
                             // exchange waits for all ranks
  LayoutRange window;
  const auto end_window = [&] {
    if (pieces.empty()) return;
    const float* values = gathered(share, window);
    for (const auto& [slice, first, count] : pieces)
      see(slices[slice], first, values + (slices[slice].offset + first - window.begin), count);
    pieces.clear();
  };
  for (std::size_t s = 0; s < slices.size(); ++s) {
    const Slice& slice = slices[s];
    const std::int64_t row = slice.shape.back(),
                       limit = std::max<std::int64_t>(window_.size / row, 1) * row;
    for (std::int64_t first = 0; first < slice.count; first += limit) {
      const std::int64_t count = std::min(limit, slice.count - first),
                         end = slice.offset + first + count;
      if (!pieces.empty() && end - window.begin > window_.size) end_window();
      if (pieces.empty()) window.begin = slice.offset + first;
      window.end = end;
      pieces.push_back({s, first, count});
    }
  }
  end_window();
  if (ranks_->size() > 1) compare_checksum();
}

const float* WeightGather::gathered(const float* share, const LayoutRange& range) {
  if (ranks_->size() == 1) return share + range.begin;
  float* const values = window_.values.get();
  const LayoutRange own = range.within(shares_->share);
  cuda::copy_on_device(device_->context(), values + (own.begin - range.begin),
                       share + (own.begin - shares_->share.begin),
                       std::size_t(own.size()) * sizeof(float));
  device_->wait();
  ranks_->gather_shares({values, std::size_t(range.size())}, shares_->offsets_in(range));
  cuda::add_checksum(device_->context(), values, range.begin, range.size(), checksum_.get());
  return values;
}

void WeightGather::compare_checksum() {
  std::array<std::int64_t, 1> own{};
  device_->download(checksum_.get(), std::span<std::int64_t>(own));
  device_->wait();
  auto first = own;
  ranks_->broadcast(std::as_writable_bytes(std::span(first)), 0);
  require<ProtocolError>(
      own == first,
      fmt::format("new weights have checksum {:016x} on one rank and {:016x} on another",
                  std::uint64_t(first[0]), std::uint64_t(own[0])),
      "ranks would go on with different policies",
      "look at the network and the memory of this node, then resume from the last checkpoint");
}

/// The master weights and moments of this rank's share, and AdamW on them.
class ShardedDeviceOptimizer final : public DeviceOptimizer {
 public:
  ShardedDeviceOptimizer(const PolicyModel& policy, std::vector<std::int64_t> share_offsets,
                         Collectives& ranks)
      : policy_(&policy), shares_(policy.packed().layout, std::move(share_offsets), ranks.rank()) {
    expect(int(shares_.offsets.size()) == ranks.size() + 1 &&
               shares_.offsets.back() == shares_.layout.size,
           "each rank has a share, and they cover the layout");
    const DeviceOptimizerSizes sizes =
        device_optimizer_sizes(policy.config(), shares_.share.size(), ranks.size());
    const auto turn = device_.turn();
    using device_items::kShare, device_items::kWay;
    sum_ = std::make_unique<DeviceGradientSum>(device_, shares_, ranks,
                                               policy.packed().backward_parts.tensors, sizes);
    for (auto* vector : {&master_, &m_, &v_}) *vector = take_device<float>(sizes.share, kShare);
    window_ = {take_device<float>(sizes.window, kWay), sizes.window};
    squares_ = take_device<double>(sizes.blocks, kWay);
    gather_.emplace(device_, shares_, ranks, window_);
    take(policy.packed().weights->span());
    forget();
  }

  void start() override {
    const auto turn = device_.turn();
    sum_->start();
  }
  Columns add(MicroBatchRunner& runner, const PolicyModel& policy, const MicroBatch& micro_batch,
              double temperature, const ColumnGradient& derivative) override {
    if (micro_batch.targets.empty()) {
      add_none();
      return Columns();
    }
    auto columns = runner.forward_backward(policy, micro_batch, temperature, derivative, *sum_);
    sum_->exponents().end_micro_batch();
    return columns;
  }
  void add_none() override {
    const auto turn = device_.turn();
    sum_->add_none();
  }
  SumOutcome finish(Collectives& ranks) override;
  double norm() const override { return norm_; }
  void apply(const OptimizerSection& settings, double lr) override;
  void take(std::span<const float> weights) override {
    const LayoutRange& share = shares_.share;
    upload(weights.subspan(std::size_t(share.begin), std::size_t(share.size())), master_.get());
  }
  void fetch(std::span<float> weights) override;

  void forget() override {
    const auto turn = device_.turn();
    for (const auto* moments : {&m_, &v_})
      fill_zeros(device_, moments->get(), shares_.share.size());
    steps_ = 0;
  }
  void only(std::shared_ptr<const GradientMask> mask) override {
    expect(!mask, "a device has no gradient mask");
  }
  const std::vector<std::int64_t>& exponents() const override { return sum_->exponents().all(); }
  std::shared_ptr<const OptimizerState> state() override;
  void restore(std::span<const std::int64_t> exponents, std::int64_t step,
               const ReadMoments& read) override;

 private:
  void upload(std::span<const float> from, float* to);
  void download(const float* from, std::span<float> to);

  Device& device_ = Device::own();
  const PolicyModel* policy_;
  ShareLayout shares_;
  std::unique_ptr<DeviceGradientSum> sum_;
  double norm_ = 0.0;
  std::int64_t steps_ = 0;
  std::shared_ptr<float> master_, m_, v_;  ///< [share]
  DeviceWindow window_;
  std::shared_ptr<double> squares_;  ///< [blocks of the share]
  std::optional<WeightGather> gather_;
};

SumOutcome ShardedDeviceOptimizer::finish(Collectives& ranks) {
  const auto turn = device_.turn();
  if (const auto outcome = sum_->decide(ranks); outcome != SumOutcome::ready) return outcome;
  const LayoutRange& share = shares_.share;
  sum_->gradient(window_, [&](const LayoutRange& window, const float* values) {
    cuda::sums_of_squares(device_.context(), values, window.size(),
                          squares_.get() + (window.begin - share.begin) / kBlock);
  });
  std::vector<double> squares(std::size_t((share.size() + kBlock - 1) / kBlock));
  device_.download(squares_.get(), std::span(squares));
  device_.wait();
  norm_ = norm_of_shares(ranks, shares_.layout.size, share.begin, squares);
  sum_->exponents().centre();
  return SumOutcome::ready;
}

void ShardedDeviceOptimizer::apply(const OptimizerSection& settings, double lr) {
  const auto turn = device_.turn();
  kernels::AdamWStep step = next_step(settings, lr, norm_, steps_);
  sum_->gradient(window_, [&](const LayoutRange& window, const float* values) {
    shares_.each_slice(window, [&](std::size_t s, const LayoutRange& part) {
      step.weight_decay = shares_.layout.slices[s].decay ? settings.weight_decay : 0.0;
      const std::int64_t offset = part.begin - shares_.share.begin;
      cuda::adamw(device_.context(), master_.get() + offset, 1, part.size(),
                  values + (part.begin - window.begin), m_.get() + offset, v_.get() + offset, step,
                  nullptr);
    });
  });
  const OnDevice& policy = on_device(device_, policy_->packed());
  gather_->each(master_.get(), [&](const Slice& slice, std::int64_t first, const float* values,
                                   std::int64_t count) {
    policy.put(device_, slice.tensor, first, values, count);
  });
  device_.wait();
}

void ShardedDeviceOptimizer::fetch(std::span<float> weights) {
  const auto turn = device_.turn();
  gather_->each(master_.get(), [&](const Slice& slice, std::int64_t first, const float* values,
                                   std::int64_t count) {
    if (!weights.empty())
      download(values, weights.subspan(std::size_t(slice.offset + first), std::size_t(count)));
  });
}

std::shared_ptr<const OptimizerState> ShardedDeviceOptimizer::state() {
  const auto turn = device_.turn();
  const auto size = std::size_t(shares_.share.size());
  const auto copy = std::make_shared<OptimizerState>(
      OptimizerState{std::vector<float>(size), std::vector<float>(size), steps_});
  download(m_.get(), copy->m);
  download(v_.get(), copy->v);
  return copy;
}

void ShardedDeviceOptimizer::restore(std::span<const std::int64_t> exponents, std::int64_t step,
                                     const ReadMoments& read) {
  const auto turn = device_.turn();
  std::vector<float> m(static_cast<std::size_t>(shares_.share.size())), v(m.size());
  read(m, v);
  upload(m, m_.get());
  upload(v, v_.get());
  sum_->exponents().set(exponents);
  steps_ = step;
}

void ShardedDeviceOptimizer::upload(std::span<const float> from, float* to) {
  const auto turn = device_.turn();
  cuda::copy_to_device(device_.context(), to, from.data(), from.size_bytes());
  device_.wait();
}

/// Copies a window at a time, which bounds the pinned memory.
void ShardedDeviceOptimizer::download(const float* from, std::span<float> to) {
  const auto window = std::size_t(window_.size);
  for (std::size_t first = 0; first < to.size(); first += window) {
    device_.download(from + first, to.subspan(first, std::min(window, to.size() - first)));
    device_.wait();
  }
}

}  // namespace

std::unique_ptr<DeviceOptimizer> make_device_optimizer(const PolicyModel& policy,
                                                       std::vector<std::int64_t> share_offsets,
                                                       Collectives& ranks) {
  return std::make_unique<ShardedDeviceOptimizer>(policy, std::move(share_offsets), ranks);
}

}  // namespace rollcall::model
