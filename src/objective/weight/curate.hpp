// Weight curate: successes of a step are dropped at random until they are at most a wanted share of
// what trains; failures stay.
//   S successes, F failures that may train;  kept successes: floor(p / (1 - p) F + 1/2), S at most
//   and at least 1 where there is any
// Source: TOPR, arXiv:2503.14286: data sets are curated towards negatives between iterations, and a
//   small share of positives is best. The share was not found; here it is 0.2.
// Shapes: [B] -> [N].   Knobs: curate_share.
// What differs from keep_advantage: it looks at the verifier's outcomes and keeps a share of the
//   successes. Dropped rollouts leave loss and denominators. On an archive (train.from_archive) it
//   is the curation between iterations, and each pass over the archive draws again.
#pragma once

#include "objective/pieces.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace rollcall::objective {

struct Curate {
  static constexpr std::string_view
      name = "curate",
      formula = "keep_it = 0 for successes beyond the share p of what trains";
  static constexpr std::uint64_t purpose = 19;
  double share = 0.2;

  void bind(Knobs& knobs) {
    knobs.number("curate_share", share, {0.0, 0.999},
                 "p: largest share of successes among the rollouts that train");
    knobs.needs.column(column::correct);
  }

  TokenWeight operator()(const Step& step) const {
    const at::Tensor trains = step.trained_length > 0, good = step.named(column::correct) > 0.5,
                     draws = step.uniform_rollouts(purpose);
    const at::Tensor kept = at::ones({step.shape.rollouts}, at::kDouble);
    const auto draw = draws.accessor<double, 1>();
    const auto is_good = good.accessor<bool, 1>(), counts = trains.accessor<bool, 1>();
    auto keep = kept.accessor<double, 1>();
    std::vector<std::int64_t> successes;
    double failures = 0;
    for (std::int64_t i = 0; i < step.shape.rollouts; ++i) {
      if (!counts[i]) continue;
      if (is_good[i]) successes.push_back(i);
      else failures += 1;
    }
    const auto most =
        std::max<std::size_t>(std::size_t(std::floor(share / (1.0 - share) * failures + 0.5)), 1);
    std::sort(successes.begin(), successes.end(),
              [&](auto a, auto b) { return draw[a] < draw[b]; });
    for (std::size_t k = most; k < successes.size(); ++k) keep[successes[k]] = 0.0;
    return {{}, step.shape.over_tokens(kept)};
  }
};

}  // namespace rollcall::objective
