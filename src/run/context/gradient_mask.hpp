// The weights that training steps may change, where the run file names two checkpoints that say so
// (section gradient_mask).
#pragma once

#include "core/collectives.hpp"
#include "core/run_config.hpp"
#include "model/train/gradient_mask.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace rollcall::run {

struct RunContext;

/// The mask of a run, as rank 0 found it: where the others read it, and what they compare it with.
/// Empty where the run has none.
struct MaskOrigin {
  std::string before, after;  ///< absolute folders of the two checkpoints
  std::string digest;         ///< model::mask_digest() of the whole model

  template <class A>
  void serialize(A& ar, unsigned) {
    ar& before& after& digest;
  }
};

/// On rank 0, for a run that masks: reads both checkpoints a piece at a time. Throws InputError
/// where one is not of the run's model or nothing moved between them, ConfigError where the run
/// computes on devices.
MaskOrigin find_mask(const RunConfig& config, const model::ModelConfig& policy);

/// The mask of [begin, end) of the weights; null where the run has none. Throws EnvironmentError
/// where the ranks have not read what rank 0 has. Collective over the update ranks: the shares of
/// small models are empty on most of them, and those take part alike.
std::shared_ptr<const model::GradientMask> mask_of_share(const RunContext& context,
                                                         Collectives& ranks, std::int64_t begin,
                                                         std::int64_t end);

}  // namespace rollcall::run
