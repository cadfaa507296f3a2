// Pseudo-counts of right and wrong rollouts per prompt, and draws from their Beta distribution.
#pragma once

#include "base/numbers/random.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <map>

namespace rollcall::scheduling {

struct BetaCounts {
  double right = 0.0, wrong = 0.0;
  std::uint64_t step = 0;  ///< step of the latest result
  double mean() const { return right / (right + wrong); }
};

/// The counts of each prompt that has results, by prompt id. The map is ordered, so that equal
/// states give equal text.
using BetaTable = std::map<std::uint64_t, BetaCounts>;
nlohmann::json beta_rows(const BetaTable& table);
BetaTable beta_table(const nlohmann::json& rows);

/// A random number from Beta(a, b) with positive a and b: a pure function of stream, index and
/// parameters.
double draw_beta(const RandomStream& stream, std::uint64_t index, double a, double b);

}  // namespace rollcall::scheduling
