// The temperature at which passes of the update take log-probs and entropies.
#pragma once

#include "core/plan.hpp"

namespace rollcall::run {

/// The temperature of sampling. Greedy sampling (0) keeps its columns at temperature 1.
inline double temperature_of(double temperature) { return temperature == 0.0 ? 1.0 : temperature; }
inline double temperature_of(const SamplingParams& sampling) {
  return temperature_of(sampling.temperature);
}

}  // namespace rollcall::run
