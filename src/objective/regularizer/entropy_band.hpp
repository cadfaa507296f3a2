// Regularizer entropy_band: an entropy bonus, and a charge on tokens whose entropy has left the
// band around its history.
//   loss -= band_coef (H_it - band_smooth c_it);  c_it = band_charge where H_it is not within
//   band_low m .. band_high m, else 0
//   m: the statistic entropy_history, left by earlier steps (reward entropy_history), in
//   conversations the history of the token's turn; tokens without a history are not charged
// Source: EPO, arXiv:2509.22576, and its released trainer (0.001, 1, 0.1, band 0.8 to 1.2; its
//   scripts: 0.5 to 1.5).
// Shapes: entropy [M] -> [M].   Knobs: band_coef, band_smooth, band_charge, band_low, band_high.
// What differs from entropy: the value only. In the released code as here, the charge is a constant
//   on either side of a bound, so it has no derivative. It is seen in the loss and changes no
//   weight.
#pragma once

#include "objective/reward/entropy_history.hpp"

#include <cmath>
#include <vector>

namespace rollcall::objective {

struct EntropyBand {
  static constexpr std::string_view
      name = "entropy_band",
      formula =
          "-band_coef (H_it - band_smooth band_charge [H_it outside the band around its history])";
  double coef = 0.001, smooth = 1.0, charge = 0.1, low = 0.8, high = 1.2;

  void bind(Knobs& knobs) {
    knobs.number("band_coef", coef, {0.0, 1e6}, "weight of the mean entropy in the loss");
    knobs.number("band_smooth", smooth, {0.0, 1e6}, "weight of the charges beside the entropy");
    knobs.number("band_charge", charge, {0.0, 1e6}, "charge of a token outside the band");
    knobs.number("band_low", low, {0.0, 1.0}, "lower end of the band, in means of the history");
    knobs.number("band_high", high, {1.0, 1e6}, "upper end of the band");
  }

  at::Tensor operator()(const MicroBatchTensors& micro_batch) const {
    const at::Tensor h = micro_batch.entropy.detach();
    at::Tensor outside;
    if (const Step& step = micro_batch.step; step.turns.turns > step.shape.rollouts) {
      const at::Tensor mean = micro_batch.take(step.turns.over_tokens(histories(step)));
      outside = (h <= low * mean).logical_or(h >= high * mean);
    } else {
      const double mean = step.statistic("entropy_history", -1.0);
      if (mean < 0) return -coef * micro_batch.entropy;
      outside = (h <= low * mean).logical_or(h >= high * mean);
    }
    return -coef * (micro_batch.entropy - smooth * charge * outside.to(at::kDouble));
  }

 private:
  /// [K] the history of each turn's index, or NaN if there is none. Every comparison with NaN is
  /// false, so no token is charged.
  static at::Tensor histories(const Step& step) {
    std::vector<double> means;
    const auto most = step.turns.index.max().item<std::int64_t>() + 1;
    for (std::int64_t k = 0; k < most; ++k)
      means.push_back(step.statistic(EntropyHistory::of_turn("entropy_history", k), std::nan("")));
    return at::tensor(means, at::kDouble).index_select(0, step.turns.index);
  }
};

}  // namespace rollcall::objective
