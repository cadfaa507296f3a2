// The largest value of each part of a column, by a loop: LibTorch's index_reduce says on stderr
// that it is beta.
#pragma once

#include <ATen/ATen.h>

#include <algorithm>
#include <cstdint>

namespace rollcall::objective {

/// [parts] of values [n] float64, without a derivative; `part`: [n] int64, of each value. `least`
/// where all are smaller, or there is none.
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
