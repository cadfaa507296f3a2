// What to do where the model has too few positions.
#pragma once

#include "core/run_config.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <string>

namespace rollcall::run {

/// The advice for texts of up to `needed` tokens. Where weights are read, the model's own
/// config.json counts, and no setting gives it more positions.
inline std::string more_positions(const RunConfig& config, std::int64_t needed) {
  const bool is_made = config.model.path.empty() && config.run.init_from.empty();
  return is_made ? fmt::format("raise model.max_position_embeddings to {}", needed)
                 : fmt::format("use a model with {} positions", needed);
}

}  // namespace rollcall::run
