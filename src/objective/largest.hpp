// The largest value of each part of a column. It is a loop, because LibTorch's index_reduce warns
// on stderr that it is beta.
#pragma once

#include <ATen/ATen.h>

#include <algorithm>
#include <cstdint>

namespace rollcall::objective {

/// [parts] largest of the values [n] float64 of each part, without a derivative. `part`: [n] int64,
/// the part of each value. A part gets `least` if all its values are smaller than `least` or if it
/// has no values.
inline at::Tensor largest_of(std::int64_t parts, const at::Tensor& part, const at::Tensor& values,
                             double least) {
  const at::Tensor largest = at::full({parts}, least, at::kDouble),
                   from = values.detach().contiguous(), of = part.contiguous();
  auto* out = largest.data_ptr<double>();
  const auto* value = from.const_data_ptr<double>();
  const auto* place = of.const_data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < from.size(0); ++i) out[place[i]] = std::max(out[place[i]], value[i]);
  return largest;
}

}  // namespace rollcall::objective
