// Sums in fixed point, and their exchange between the ranks' shares.
#include "model/device/device_gradient_sum.hpp"

#include <cmath>

namespace rollcall::model {

namespace cuda = kernels::cuda;

std::vector<std::int64_t> ShareLayout::offsets_in(const LayoutRange& range) const {
  std::vector<std::int64_t> inside;
  for (const std::int64_t offset : offsets)
    inside.push_back(std::clamp(offset, range.begin, range.end) - range.begin);
  return inside;
}

DeviceGradientSum::DeviceGradientSum(Device& device, const ShareLayout& shares, Collectives& ranks,
                                     std::vector<TensorRange> parts,
                                     const DeviceOptimizerSizes& sizes)
    : device_(&device),
      shares_(&shares),
      ranks_(&ranks),
      parts_(std::move(parts)),
      exponents_(shares.layout.slices.size()),
      sum_(take_device<std::int64_t>(sizes.share, device_items::kShare)),
      part_(take_device<std::int64_t>(sizes.part, device_items::kWay)),
      largest_(take_device<float>(sizes.tensors, device_items::kWay)) {}

void DeviceGradientSum::start() {
  fill_zeros(*device_, sum_.get(), shares_->share.size());
  fill_zeros(*device_, largest_.get(), std::int64_t(shares_->layout.slices.size()));
  exponents_.start();
}

void DeviceGradientSum::add_none() {
  for (std::size_t part = 0; part < parts_.size(); ++part) {
    begin_part(part);
    end_part();
  }
}

void DeviceGradientSum::begin_part(std::size_t part) {
  part_range_ = shares_->layout.range_of(parts_[part]);
  if (alone()) return;
  fill_zeros(*device_, part_.get(), part_range_.size());
  const LayoutRange own = part_range_.within(shares_->share);
  cuda::copy_on_device(device_->context(), part_.get() + (own.begin - part_range_.begin),
                       sum_.get() + (own.begin - shares_->share.begin),
                       std::size_t(own.size()) * sizeof(std::int64_t));
}

void DeviceGradientSum::end_part() {
  if (alone()) return;
  device_->wait();
  ranks_->sum_to_shares({part_.get(), std::size_t(part_range_.size())},
                        shares_->offsets_in(part_range_));
  const LayoutRange own = part_range_.within(shares_->share);
  cuda::copy_on_device(device_->context(), sum_.get() + (own.begin - shares_->share.begin),
                       part_.get() + (own.begin - part_range_.begin),
                       std::size_t(own.size()) * sizeof(std::int64_t));
}

void DeviceGradientSum::add(TensorId tensor, std::int64_t first, const float* values,
                            std::int64_t count) {
  const std::size_t slice = slice_of(tensor);
  cuda::accumulate_fixed_point(device_->context(), values, count, exponents_.of(slice),
                               sums_of(slice) + first, largest_.get() + slice);
}

void DeviceGradientSum::add_rows(TensorId tensor, std::span<const std::int32_t> tokens,
                                 const float* rows, std::int64_t width) {
  const std::size_t slice = slice_of(tensor);
  cuda::embed_backward(device_->context(), rows, device_->upload(tokens),
                       std::int64_t(tokens.size()), width, std::ldexp(1.0, exponents_.of(slice)),
                       sums_of(slice), largest_.get() + slice);
}

SumOutcome DeviceGradientSum::decide(Collectives& ranks) {
  std::vector<float> largest(shares_->layout.slices.size());
  device_->download(largest_.get(), std::span(largest));
  device_->wait();
  for (std::size_t s = 0; s < largest.size(); ++s) exponents_.note(s, largest[s]);
  const SumOutcome outcome = exponents_.decide(ranks);
  if (outcome == SumOutcome::ready) sum_exponents_ = exponents_.all();
  return outcome;
}

/// Where a slice of the current part is summed.
std::int64_t* DeviceGradientSum::sums_of(std::size_t slice) const {
  const std::int64_t offset = shares_->layout.slices[slice].offset;
  return alone() ? sum_.get() + offset : part_.get() + (offset - part_range_.begin);
}

void DeviceGradientSum::to_floats(const LayoutRange& range, float* values) {
  fill_zeros(*device_, values, range.size());
  shares_->each_slice(range, [&](std::size_t slice, const LayoutRange& part) {
    cuda::from_fixed_point(device_->context(), sum_.get() + (part.begin - shares_->share.begin),
                           part.size(), int(sum_exponents_[slice]),
                           values + (part.begin - range.begin));
  });
}

}  // namespace rollcall::model
