// Surrogate rec: reinforce on the tokens with a ratio in a range, with a choice of weights.
//   L = -keep w A lp
//   one-side: keep = rho <= 1 + clip_high where A >= 0, rho >= 1 - clip_low where A <= 0;
//   two-side: 1 - clip_low <= rho <= 1 + clip_high
//   ring: two-side, or A >= 0 and rho <= 1 - ring_low, or A <= 0 and rho >= 1 + ring_high
//   w = 1, rho, clip(rho, 1 - clip_low, 1 + clip_high) or exp(A / rec_temperature), frozen
// Source: Group-Relative REINFORCE Is Secretly an Off-Policy Algorithm, arXiv:2509.24203 (REC, and
//   RED-Weight), and its code in Trinity-RFT.
// Shapes: ratio [M], advantage [M] -> [M].   Knobs: rec_range, rec_weight, clip_low, clip_high,
//   ring_low, ring_high, rec_temperature.
// What differs from clip: only the range stabilises training. Inside the range the derivative does
//   not contain the ratio, unless rec_weight asks for it.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct Rec {
  static constexpr std::string_view name = "rec", formula = "L = -[rho in range] w A lp";
  enum class Kept { all, one_side, two_side, ring };
  enum class Weighting { none, ratio, truncated, advantage };
  Kept range = Kept::one_side;
  Weighting weighting = Weighting::none;
  double low = 0.2, high = 0.2, ring_low = 0.6, ring_high = 2.0, temperature = 1.0;

  void bind(Knobs& knobs) {
    knobs.choice("rec_range", range, {"none", "one-side", "two-side", "ring"},
                 "ratios that are trained on; none: all");
    knobs.choice("rec_weight", weighting, {"none", "ratio", "truncated", "advantage"},
                 "weight of a token");
    knobs.number("clip_low", low, {0.0, 1.0}, "distance of the range's lower end from 1");
    knobs.number("clip_high", high, {0.0, 1e6}, "distance of the range's upper end from 1");
    knobs.number("ring_low", ring_low, {0.0, 1.0},
                 "beyond this distance below 1 a positive advantage pulls back");
    knobs.number("ring_high", ring_high, {0.0, 1e6},
                 "beyond this distance above 1 a negative advantage pulls back");
    knobs.number("rec_temperature", temperature, {1e-3, 1e6}, "of the weight exp(A / temperature)");
  }

  SurrogateLoss operator()(const MicroBatchTensors& micro_batch, const at::Tensor& ratio) const {
    const at::Tensor r = ratio.detach(), keep = kept(micro_batch.advantage, r);
    at::Tensor loss = -keep.to(at::kDouble) * micro_batch.advantage * micro_batch.logprob;
    if (weighting == Weighting::ratio) loss = loss * r;
    if (weighting == Weighting::truncated) loss = loss * r.clamp(1.0 - low, 1.0 + high);
    if (weighting == Weighting::advantage)
      loss = loss * (micro_batch.advantage / temperature).clamp(-20.0, 20.0).exp();
    return {loss, keep.logical_not()};
  }

 private:
  at::Tensor kept(const at::Tensor& advantage, const at::Tensor& r) const {
    const at::Tensor up = r <= 1.0 + high, down = r >= 1.0 - low, good = advantage >= 0,
                     bad = advantage <= 0;
    if (range == Kept::all) return at::ones_like(up);
    if (range == Kept::one_side) return up.logical_and(good).logical_or(down.logical_and(bad));
    const at::Tensor far =
        good.logical_and(r <= 1.0 - ring_low).logical_or(bad.logical_and(r >= 1.0 + ring_high));
    return range == Kept::ring ? up.logical_and(down).logical_or(far) : up.logical_and(down);
  }
};

}  // namespace rollcall::objective
