// Surrogate turn_scaled: clip with a wider interval for tokens of turns that gained more.
//   e_k = 1 + scale_k tanh(z_k);  L = max(-rho A, -clip(rho, 1 - e_k clip_low, 1 + e_k clip_high) A)
//   z_k: the reward that reward pieces give to turn k, standardised among the prompt's turns of the
//   same index; 0 for the last turn of a rollout, which gets none
// Source: A2TGPO, arXiv:2605.06200 (turn-level clipping by the normalised information gain; the form
//   is inferred, and scale_k 0.5 is ours).
// Shapes: ratio [M], advantage [M] -> [M].   Knobs: clip_low, clip_high, scale_k.
// What differs from clip: tokens of an informative turn may move further in one update, and tokens
//   of an uninformative turn less far. If no turn is paid, it is clip to the bit.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct TurnScaled {
  static constexpr std::string_view
      name = "turn_scaled",
      formula =
          "clip with widths (1 + scale_k tanh z_k) clip_low and clip_high, z_k: gain of the "
          "turn";
  double low = 0.2, high = 0.2, scale = 0.5;

  void bind(Knobs& knobs) {
    knobs.number("clip_low", low, {0.0, 0.5},
                 "how far the ratio may fall below 1 in a turn of the usual gain");
    knobs.number("clip_high", high, {0.0, 1e6}, "how far it may rise above 1 there");
    knobs.number("scale_k", scale, {0.0, 1.0},
                 "largest share by which a turn's gain widens or narrows the interval");
  }

  SurrogateLoss operator()(const MicroBatchTensors& micro_batch, const at::Tensor& ratio) const {
    const at::Tensor width = micro_batch.take(widths(micro_batch.step));
    const at::Tensor held = at::minimum(at::maximum(ratio, 1.0 - low * width), 1.0 + high * width);
    const at::Tensor free = -micro_batch.advantage * ratio, bounded = -micro_batch.advantage * held;
    return {at::maximum(free, bounded), bounded.detach() > free.detach()};
  }

 private:
  /// [N] the factor on both widths
  at::Tensor widths(const Step& step) const {
    const TurnShape& turns = step.turns;
    if (!step.turns.paid.defined()) return at::ones({step.shape.tokens}, at::kDouble);
    const at::Tensor key =
        at::where(turns.ends(), -1 - at::arange(turns.turns),
                  TurnShape::paired(turns.over_turns(step.shape.group), turns.index));
    const at::Tensor z = turns.centred(step.turns.paid, key, TurnShape::Centre::standard,
                                       TurnShape::Alone::zero, 1e-6);
    return turns.over_tokens(1.0 + scale * z.tanh());
  }
};

}  // namespace rollcall::objective
