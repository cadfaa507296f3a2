// Private to the model: the gradient sum of a rank that computes on a device, and the shares of the
// layout in which it is kept.
#pragma once

#include "model/device/device_backward.hpp"
#include "model/train/optimizer.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace rollcall::model {

/// A layout cut into one share per rank, seen from one of the ranks.
struct ShareLayout {
  WeightLayout layout;
  std::vector<std::int64_t> offsets;  ///< [ranks + 1] where the shares begin, and the last one ends
  LayoutRange share;                  ///< the share of this rank

  ShareLayout(WeightLayout of, std::vector<std::int64_t> share_offsets, int rank)
      : layout(std::move(of)),
        offsets(std::move(share_offsets)),
        share{offsets[std::size_t(rank)], offsets[std::size_t(rank) + 1]} {}

  /// [ranks + 1] where the shares begin within a range.
  std::vector<std::int64_t> offsets_in(const LayoutRange& range) const;
  /// Calls see(slice, part) for the parts of slices that lie in a range, in order.
  template <class See>
  void each_slice(const LayoutRange& range, const See& see) const {
    const auto& slices = layout.slices;
    auto slice =
        std::upper_bound(slices.begin(), slices.end(), range.begin,
                         [](std::int64_t begin, const Slice& s) { return begin < s.offset; });
    if (slice != slices.begin()) --slice;
    for (; slice != slices.end() && slice->offset < range.end; ++slice) {
      const LayoutRange part =
          LayoutRange{slice->offset, slice->offset + slice->count}.within(range);
      if (part.size() > 0) see(std::size_t(slice - slices.begin()), part);
    }
  }
};

/// Device memory for `count` elements, at least one. If there is no room, the error names `what`.
template <class T>
std::shared_ptr<T> take_device(std::int64_t count, const char* what) {
  const auto memory =
      kernels::cuda::device_memory(std::size_t(std::max<std::int64_t>(count, 1)) * sizeof(T), what);
  return {memory, reinterpret_cast<T*>(memory.get())};
}
template <class T>
void fill_zeros(Device& device, T* values, std::int64_t count) {
  kernels::cuda::fill_zeros(device.context(), values, std::size_t(count) * sizeof(T));
}

/// Memory for a part of a share, or of all weights, in fp32.
struct DeviceWindow {
  std::shared_ptr<float> values;
  std::int64_t size = 0;
};

/// The fixed-point sum of micro-batches' gradients. Each rank keeps its share of it. A
/// micro-batch's gradient arrives one part of the model at a time. With several ranks, a part is
/// summed in separate memory, which starts as this rank's share of the part and goes to all ranks'
/// shares when the part ends. begin_part() and end_part() are therefore collective.
class DeviceGradientSum final : public DeviceGradients {
 public:
  /// `shares` and `ranks` are kept by reference.
  DeviceGradientSum(Device& device, const ShareLayout& shares, Collectives& ranks,
                    std::vector<TensorRange> parts, const DeviceOptimizerSizes& sizes);

  void start();     ///< the sum becomes zero
  void add_none();  ///< takes part in the exchange of every part without adding anything
  void begin_part(std::size_t part) override;
  void end_part() override;
  void add(TensorId tensor, std::int64_t first, const float* values, std::int64_t count) override;
  void add_rows(TensorId tensor, std::span<const std::int32_t> tokens, const float* rows,
                std::int64_t width) override;

  SumExponents& exponents() { return exponents_; }
  const SumExponents& exponents() const { return exponents_; }
  /// Ends the sum as SumExponents::decide does. Collective.
  SumOutcome decide(Collectives& ranks);
  /// After `ready`: calls see(range, values) with the share's gradient in fp32, window by window.
  /// Elements between slices are 0.
  template <class See>
  void gradient(const DeviceWindow& window, const See& see) {
    const LayoutRange& share = shares_->share;
    for (std::int64_t begin = share.begin; begin < share.end; begin += window.size) {
      const LayoutRange range{begin, std::min(begin + window.size, share.end)};
      to_floats(range, window.values.get());
      see(range, static_cast<const float*>(window.values.get()));
    }
  }

 private:
  bool alone() const { return ranks_->size() == 1; }
  std::size_t slice_of(TensorId tensor) const {
    return std::size_t(shares_->layout.slice_of(tensor));
  }
  std::int64_t* sums_of(std::size_t slice) const;
  void to_floats(const LayoutRange& range, float* values);

  Device* device_;
  const ShareLayout* shares_;
  Collectives* ranks_;
  std::vector<TensorRange> parts_;
  SumExponents exponents_;
  std::vector<std::int64_t> sum_exponents_;  ///< [slices] exponents of the finished sum
  LayoutRange part_range_;                   ///< the elements of the current part
  std::shared_ptr<std::int64_t> sum_;        ///< [share] sums of this rank's share
  std::shared_ptr<std::int64_t> part_;       ///< [part] current sums, if there are other ranks
  std::shared_ptr<float> largest_;           ///< [slices] largest |element| of a micro-batch's part
};

}  // namespace rollcall::model
