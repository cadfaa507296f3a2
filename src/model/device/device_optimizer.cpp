// AdamW on the device: a micro-batch's gradient goes to the ranks' shares part by part; new weights
// come from them to all ranks window by window.
#include "base/error.hpp"
#include "model/device/device_backward.hpp"
#include "model/train/policy_optimizer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace rollcall::model {
namespace {

namespace cuda = kernels::cuda;

constexpr auto kBlock = std::int64_t(kernels::kNormBlock);

struct Stretch {
  std::int64_t begin = 0, end = 0;
  std::int64_t size() const { return end - begin; }
  Stretch within(const Stretch& other) const {
    return {std::clamp(begin, other.begin, other.end), std::clamp(end, other.begin, other.end)};
  }
};

class ShardedDeviceOptimizer final : public DeviceOptimizer, public DeviceGradients {
 public:
  ShardedDeviceOptimizer(const PolicyModel& policy, std::vector<std::int64_t> begins,
                         Collectives& ranks)
      : policy_(&policy),
        layout_(policy.packed().layout),
        ranks_(&ranks),
        begins_(std::move(begins)),
        share_{begins_[std::size_t(ranks.rank())], begins_[std::size_t(ranks.rank()) + 1]},
        sizes_(device_optimizer_sizes(layout_, policy.config().num_hidden_layers, share_.size(),
                                      ranks.size())),
        parts_(backward_parts(policy.packed())),
        exponents_(layout_.slices.size()) {
    expect(int(begins_.size()) == ranks.size() + 1 && begins_.back() == layout_.size,
           "each rank has a share, and they cover the layout");
    const auto turn = device_.turn();
    using device_items::kShare, device_items::kWay;
    sum_ = room<std::int64_t>(sizes_.share, kShare), part_ = room<std::int64_t>(sizes_.part, kWay),
    checksum_ = room<std::int64_t>(1, kWay);
    master_ = room<float>(sizes_.share, kShare), m_ = room<float>(sizes_.share, kShare),
    v_ = room<float>(sizes_.share, kShare);
    largest_ = room<float>(sizes_.tensors, kWay), window_ = room<float>(sizes_.window, kWay),
    squares_ = room<double>(sizes_.blocks, kWay);
    take(policy.packed().weights->span());
    forget();
  }

  void start() override {
    const auto turn = device_.turn();
    zero(sum_, share_.size()), zero(largest_, std::int64_t(layout_.slices.size()));
    exponents_.start();
  }
  Columns add(MicroBatchRunner& runner, const PolicyModel& policy, const MicroBatch& micro_batch,
              double temperature, const ColumnGradient& derivative) override {
    if (micro_batch.targets.empty()) return add_none(), Columns();
    auto columns = runner.forward_backward(policy, micro_batch, temperature, derivative, *this);
    exponents_.end_micro_batch();
    return columns;
  }
  void add_none() override {
    const auto turn = device_.turn();
    for (std::size_t part = 0; part < parts_.size(); ++part) begin_part(part), end_part();
  }
  SumOutcome finish(Collectives& ranks) override;
  double norm() const override { return norm_; }
  void apply(const OptimizerSection& settings, double lr) override;
  void take(std::span<const float> weights) override {
    upload(weights.subspan(std::size_t(share_.begin), std::size_t(share_.size())), master_.get());
  }
  void fetch(std::span<float> weights) override;

  void forget() override {
    const auto turn = device_.turn();
    zero(m_, share_.size()), zero(v_, share_.size());
    steps_ = 0;
  }
  void only(std::shared_ptr<const GradientMask> mask) override {
    expect(!mask, "a device has no gradient mask");
  }
  const std::vector<std::int64_t>& exponents() const override { return exponents_.all(); }
  std::shared_ptr<const OptimizerState> state() override;
  void restore(std::span<const std::int64_t> exponents, std::int64_t step,
               const ReadMoments& read) override;

  // The gradient of a micro-batch. With others, what the share has of a part is in the part's
  // memory while that is added to.
  void begin_part(std::size_t part) override;
  void end_part() override;
  void add(std::size_t slice, std::int64_t first, const float* values,
           std::int64_t count) override {
    cuda::accumulate_fixed_point(device_.context(), values, count, exponents_.of(slice),
                                 sums_of(slice) + first, largest_.get() + slice);
  }
  void add_rows(std::span<const std::int32_t> tokens, const float* rows,
                std::int64_t width) override {
    cuda::embed_backward(device_.context(), rows, device_.upload(tokens),
                         std::int64_t(tokens.size()), width, std::ldexp(1.0, exponents_.of(0)),
                         sums_of(0), largest_.get());
  }

 private:
  template <class T>
  using Piece = std::shared_ptr<T>;
  template <class T>
  static Piece<T> room(std::int64_t count, const char* what) {
    const auto memory =
        cuda::device_memory(std::size_t(std::max<std::int64_t>(count, 1)) * sizeof(T), what);
    return {memory, reinterpret_cast<T*>(memory.get())};
  }
  template <class T>
  void zero(const Piece<T>& piece, std::int64_t count) {
    cuda::fill_zeros(device_.context(), piece.get(), std::size_t(count) * sizeof(T));
  }
  bool alone() const { return ranks_->size() == 1; }
  Stretch stretch_of(std::size_t part) const {
    const Slice &first = layout_.slices[parts_[part].first],
                &last = layout_.slices[parts_[part].last - 1];
    return {first.offset, last.offset + last.count};
  }
  std::int64_t* sums_of(std::size_t slice) const {
    const std::int64_t offset = layout_.slices[slice].offset;
    return alone() ? sum_.get() + offset : part_.get() + (offset - at_.begin);
  }
  std::vector<std::int64_t> begins_in(const Stretch& stretch) const {
    std::vector<std::int64_t> begins;
    for (const std::int64_t begin : begins_)
      begins.push_back(std::clamp(begin, stretch.begin, stretch.end) - stretch.begin);
    return begins;
  }
  /// The parts of slices that lie in the stretch: see(slice, part).
  template <class See>
  void each_slice(const Stretch& stretch, const See& see) const;
  /// The share's gradient in fp32, window by window: see(window, values). Padding has none.
  template <class See>
  void gradient(const See& see);
  /// All weights in fp32, whole rows of a matrix at a time: see(slice, first, values, count).
  /// Collective.
  template <class See>
  void all_weights(const See& see);
  const float* gathered(const Stretch& stretch);
  void compare_checksum();
  void upload(std::span<const float> from, float* to);
  void download(const float* from, std::span<float> to);

  Device& device_ = Device::own();
  const PolicyModel* policy_;
  WeightLayout layout_;
  Collectives* ranks_;
  std::vector<std::int64_t> begins_;
  Stretch share_;
  DeviceOptimizerSizes sizes_;
  std::vector<SliceRange> parts_;
  SumExponents exponents_;
  std::vector<std::int64_t> of_sum_;  ///< [slices] those that the sum at hand was made with
  double norm_ = 0.0;
  std::int64_t steps_ = 0;
  Stretch at_;  ///< the part that is added to
  Piece<std::int64_t> sum_, part_, checksum_;
  Piece<float> master_, m_, v_, largest_, window_;
  Piece<double> squares_;
};

void ShardedDeviceOptimizer::begin_part(std::size_t part) {
  at_ = stretch_of(part);
  if (alone()) return;
  zero(part_, at_.size());
  const Stretch own = at_.within(share_);
  cuda::copy_on_device(device_.context(), part_.get() + (own.begin - at_.begin),
                       sum_.get() + (own.begin - share_.begin),
                       std::size_t(own.size()) * sizeof(std::int64_t));
}

void ShardedDeviceOptimizer::end_part() {
  if (alone()) return;
  device_.wait();
  ranks_->sum_to_shares({part_.get(), std::size_t(at_.size())}, begins_in(at_));
  const Stretch own = at_.within(share_);
  cuda::copy_on_device(device_.context(), sum_.get() + (own.begin - share_.begin),
                       part_.get() + (own.begin - at_.begin),
                       std::size_t(own.size()) * sizeof(std::int64_t));
}

template <class See>
void ShardedDeviceOptimizer::each_slice(const Stretch& stretch, const See& see) const {
  const auto& slices = layout_.slices;
  auto slice = std::upper_bound(slices.begin(), slices.end(), stretch.begin,
                                [](std::int64_t at, const Slice& s) { return at < s.offset; });
  if (slice != slices.begin()) --slice;
  for (; slice != slices.end() && slice->offset < stretch.end; ++slice) {
    const Stretch part = Stretch{slice->offset, slice->offset + slice->count}.within(stretch);
    if (part.size() > 0) see(std::size_t(slice - slices.begin()), part);
  }
}

template <class See>
void ShardedDeviceOptimizer::gradient(const See& see) {
  for (std::int64_t begin = share_.begin; begin < share_.end; begin += sizes_.window) {
    const Stretch window{begin, std::min(begin + sizes_.window, share_.end)};
    zero(window_, window.size());
    each_slice(window, [&](std::size_t s, const Stretch& part) {
      cuda::from_fixed_point(device_.context(), sum_.get() + (part.begin - share_.begin),
                             part.size(), int(of_sum_[s]), window_.get() + (part.begin - begin));
    });
    see(window, window_.get());
  }
}

SumOutcome ShardedDeviceOptimizer::finish(Collectives& ranks) {
  const auto turn = device_.turn();
  std::vector<float> largest(layout_.slices.size());
  device_.download(largest_.get(), std::span(largest));
  device_.wait();
  for (std::size_t s = 0; s < largest.size(); ++s) exponents_.note(s, largest[s]);
  if (const auto outcome = exponents_.decide(ranks); outcome != SumOutcome::ready) return outcome;
  of_sum_ = exponents_.all();
  gradient([&](const Stretch& window, const float* values) {
    cuda::sums_of_squares(device_.context(), values, window.size(),
                          squares_.get() + (window.begin - share_.begin) / kBlock);
  });
  std::vector<double> squares(std::size_t((share_.size() + kBlock - 1) / kBlock));
  device_.download(squares_.get(), std::span(squares));
  device_.wait();
  norm_ = norm_of_shares(ranks, layout_.size, share_.begin, squares);
  exponents_.centre();
  return SumOutcome::ready;
}

void ShardedDeviceOptimizer::apply(const OptimizerSection& settings, double lr) {
  const auto turn = device_.turn();
  kernels::AdamWStep step = next_step(settings, lr, norm_, steps_);
  gradient([&](const Stretch& window, const float* values) {
    each_slice(window, [&](std::size_t s, const Stretch& part) {
      step.weight_decay = layout_.slices[s].decay ? settings.weight_decay : 0.0;
      const std::int64_t at = part.begin - share_.begin;
      cuda::adamw(device_.context(), master_.get() + at, 1, part.size(),
                  values + (part.begin - window.begin), m_.get() + at, v_.get() + at, step,
                  nullptr);
    });
  });
  const OnDevice& policy = on_device(device_, policy_->packed());
  all_weights([&](std::size_t slice, std::int64_t first, const float* values, std::int64_t count) {
    policy.put(device_, slice, first, values, count);
  });
  device_.wait();
}

template <class See>
void ShardedDeviceOptimizer::all_weights(const See& see) {
  zero(checksum_, 1);
  struct Rows {
    std::size_t slice;
    std::int64_t first, count;
  };
  std::vector<Rows> pieces;  // that come together: neighbours, since each exchange has to wait for
                             // all ranks
  Stretch window;
  const auto end_window = [&] {
    if (pieces.empty()) return;
    const float* values = gathered(window);
    for (const auto& [slice, first, count] : pieces)
      see(slice, first, values + (layout_.slices[slice].offset + first - window.begin), count);
    pieces.clear();
  };
  for (std::size_t s = 0; s < layout_.slices.size(); ++s) {
    const Slice& slice = layout_.slices[s];
    const std::int64_t row = slice.shape.back(),
                       most = std::max<std::int64_t>(sizes_.window / row, 1) * row;
    for (std::int64_t first = 0; first < slice.count; first += most) {
      const std::int64_t count = std::min(most, slice.count - first),
                         end = slice.offset + first + count;
      if (!pieces.empty() && end - window.begin > sizes_.window) end_window();
      if (pieces.empty()) window.begin = slice.offset + first;
      window.end = end;
      pieces.push_back({s, first, count});
    }
  }
  end_window();
  if (!alone()) compare_checksum();
}

const float* ShardedDeviceOptimizer::gathered(const Stretch& stretch) {
  if (alone()) return master_.get() + stretch.begin;
  const Stretch own = stretch.within(share_);
  cuda::copy_on_device(device_.context(), window_.get() + (own.begin - stretch.begin),
                       master_.get() + (own.begin - share_.begin),
                       std::size_t(own.size()) * sizeof(float));
  device_.wait();
  ranks_->gather_shares({window_.get(), std::size_t(stretch.size())}, begins_in(stretch));
  cuda::add_checksum(device_.context(), window_.get(), stretch.begin, stretch.size(),
                     checksum_.get());
  return window_.get();
}

void ShardedDeviceOptimizer::compare_checksum() {
  std::array<std::int64_t, 1> own{};
  device_.download(checksum_.get(), std::span<std::int64_t>(own));
  device_.wait();
  auto first = own;
  ranks_->broadcast(std::as_writable_bytes(std::span(first)), 0);
  require<ProtocolError>(
      own == first,
      fmt::format("new weights have checksum {:016x} on one rank and {:016x} on another",
                  std::uint64_t(first[0]), std::uint64_t(own[0])),
      "ranks would go on with different policies",
      "look at the network and the memory of this node, then resume from the last checkpoint");
}

void ShardedDeviceOptimizer::fetch(std::span<float> weights) {
  const auto turn = device_.turn();
  all_weights([&](std::size_t slice, std::int64_t first, const float* values, std::int64_t count) {
    if (!weights.empty())
      download(values, weights.subspan(std::size_t(layout_.slices[slice].offset + first),
                                       std::size_t(count)));
  });
}

std::shared_ptr<const OptimizerState> ShardedDeviceOptimizer::state() {
  const auto turn = device_.turn();
  const auto size = std::size_t(share_.size());
  const auto copy = std::make_shared<OptimizerState>(
      OptimizerState{std::vector<float>(size), std::vector<float>(size), steps_});
  download(m_.get(), copy->m), download(v_.get(), copy->v);
  return copy;
}

void ShardedDeviceOptimizer::restore(std::span<const std::int64_t> exponents, std::int64_t step,
                                     const ReadMoments& read) {
  const auto turn = device_.turn();
  std::vector<float> m(static_cast<std::size_t>(share_.size())), v(m.size());
  read(m, v);
  upload(m, m_.get()), upload(v, v_.get());
  exponents_.set(exponents);
  steps_ = step;
}

void ShardedDeviceOptimizer::upload(std::span<const float> from, float* to) {
  const auto turn = device_.turn();
  cuda::copy_to_device(device_.context(), to, from.data(), from.size_bytes());
  device_.wait();
}

void ShardedDeviceOptimizer::download(const float* from, std::span<float> to) {
  const auto window = std::size_t(sizes_.window);
  for (std::size_t first = 0; first < to.size(); first += window) {
    device_.download(from + first, to.subspan(first, std::min(window, to.size() - first)));
    device_.wait();
  }
}

}  // namespace

std::unique_ptr<DeviceOptimizer> make_device_optimizer(const PolicyModel& policy,
                                                       std::vector<std::int64_t> begins,
                                                       Collectives& ranks) {
  return std::make_unique<ShardedDeviceOptimizer>(policy, std::move(begins), ranks);
}

}  // namespace rollcall::model
