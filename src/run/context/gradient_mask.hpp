// The weights that training may change in a run with a gradient mask. The section [gradient_mask]
// names two checkpoints; the weights that differ between them are trained.
#pragma once

#include "core/collectives.hpp"
#include "core/run_config.hpp"
#include "model/train/gradient_mask.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace rollcall::run {

struct RunContext;

/// The mask of a run as rank 0 found it. Other ranks read the same checkpoints and compare their
/// digest with this one. All strings are empty where the run has no mask.
struct MaskOrigin {
  std::string before, after;  ///< absolute folders of the two checkpoints
  std::string digest;         ///< model::mask_digest() of the whole model

  template <class A>
  void serialize(A& ar, unsigned) {
    ar& before& after& digest;
  }
};

/// Reads both checkpoints piece by piece, on rank 0 of a run with a mask. Throws InputError where
/// one of them is not of the run's model or where no weight differs between them, and ConfigError
/// where the run computes on devices.
MaskOrigin find_mask(const RunConfig& config, const model::ModelConfig& policy);

/// The mask of the weights [begin, end); null where the run has none. Throws EnvironmentError where
/// the ranks have not read the same mask as rank 0. Collective over the update ranks: ranks whose
/// share of a small model is empty call it too.
std::shared_ptr<const model::GradientMask> mask_of_share(const RunContext& context,
                                                         Collectives& ranks, std::int64_t begin,
                                                         std::int64_t end);

}  // namespace rollcall::run
