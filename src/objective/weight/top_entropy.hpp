// Weight top_entropy: only the most undecided tokens of an update are trained.
//   keep_it = 1 for the ceil(top_entropy_share * N) tokens of largest current entropy among those
//   still kept, else 0; ties are broken by an addressed draw
// Source: Beyond the 80/20 Rule, arXiv:2506.01939, section 5 (0.2).
// Shapes: [N] column current_entropy -> [N].   Knobs: top_entropy_share.
// What differs from none: only forking tokens carry the gradient, and the denominators count only
//   them. They are chosen over the whole update, so neither micro-batch nor rank can change the
//   choice; the released code chooses per micro-batch.
// Acts at every update, on the update's rollouts: B, N and means are the update's.
#pragma once

#include "objective/pieces.hpp"
#include "objective/selection.hpp"

namespace rollcall::objective {

struct TopEntropy {
  static constexpr std::string_view
      name = "top_entropy",
      formula = "keep_it = among the ceil(share N) tokens of largest current entropy";
  double share = 0.2;

  void bind(Knobs& knobs) {
    knobs.number("top_entropy_share", share, {0.0, 1.0}, "share of the tokens that are trained");
    knobs.needs.column(column::current_entropy);
  }

  TokenWeight operator()(const Step& step) const {
    const at::Tensor open =
        step.keep.defined() ? step.keep : at::ones({step.shape.tokens}, at::kDouble);
    return {{},
            largest(step.named(column::current_entropy), open, step.uniform_tokens(13),
                    share_of(share, open.sum().item<double>()))};
  }
};

}  // namespace rollcall::objective
