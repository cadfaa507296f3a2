// Advantage tree_center: the reward of the rollouts that share a stretch, compared with other
// stretches at the same depth of the prompt's trees.
//   V_n = mean of r_j over the rollouts j that share stretch n;  A_n = (V_n - mean_d) / (std_d +
//   adv_eps) over the stretches of depth d of the group, with n - 1;  A_it = A_n, over the number of
//   rollouts that share n where tree_shared is once
// Source: BranchGRPO, arXiv:2509.06040, where trees branch between denoising steps. Equal weights
//   for rollouts are one of its two options, and the divisor n - 1 is inferred.
// Shapes: [B] column::parent, column::fork_token -> [N].   Knobs: tree_shared, adv_eps.
// What differs from group_norm: a shared stretch is worth what its rollouts earned on average, and
//   is compared with stretches at the same depth. A stretch that is alone at its depth has
//   advantage 0. If no rollout forked, every rollout is one stretch, which gives group_norm, but 0
//   in a group of one.
#pragma once

#include "objective/pieces.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <vector>

namespace rollcall::objective {

struct TreeCenter {
  static constexpr std::string_view
      name = "tree_center",
      formula =
          "A = (V - mean_d) / (std_d + adv_eps), V: mean reward of those that share a stretch";
  enum class Shared { once, each } shared = Shared::once;
  double eps = 1e-6;

  void bind(Knobs& knobs) {
    knobs.choice("tree_shared", shared, {"once", "each"},
                 "a stretch that n rollouts share trains like one of a single rollout, or n times");
    knobs.number("adv_eps", eps, {1e-12, 1.0}, "added to a standard deviation");
    knobs.needs.column(column::parent);
    knobs.needs.column(column::fork_token);
  }

  at::Tensor operator()(const Step& step) const {
    at::Tensor out = at::zeros({step.shape.tokens}, at::kDouble);
    const Forest forest(step);
    const auto offsets = step.columns.offsets.contiguous();
    const auto* offset = offsets.const_data_ptr<std::int64_t>();
    auto* advantage = out.data_ptr<double>();
    const auto& begin = step.shape.group_begin();
    for (std::size_t g = 0; g + 1 < begin.size(); ++g) {
      std::vector<Stretch> stretches;
      for (auto i = begin[g]; i < begin[g + 1]; ++i)
        forest.add_stretches(begin[g], begin[g + 1], i, stretches);
      std::map<std::size_t, Depth> depths;
      for (const Stretch& s : stretches)
        if (s.is_first) depths[s.depth].add(s.value);
      for (const Stretch& s : stretches)
        if (s.is_first) depths.at(s.depth).add_square(s.value);
      for (const Stretch& s : stretches) {
        const double a =
            depths.at(s.depth).standard(s.value, eps) / (shared == Shared::once ? s.sharing : 1.0);
        std::fill(advantage + offset[s.rollout] + s.begin, advantage + offset[s.rollout] + s.end,
                  a);
      }
    }
    return out;
  }

 private:
  /// Tokens of a rollout that the same rollouts share.
  struct Stretch {
    std::int64_t rollout = 0, begin = 0, end = 0;  ///< tokens of the rollout
    std::size_t depth = 0;                         ///< stretches before it
    double value = 0, sharing = 1;                 ///< V_n, and how many rollouts share it
    bool is_first = true;                          ///< of these rollouts, `rollout` comes first
  };

  /// The stretches of one depth. The mean never leaves the range of the values, so equal values are
  /// at distance 0 from it.
  struct Depth {
    double count = 0, sum = 0, least = 0, largest = 0, squares = 0;
    void add(double x) {
      least = count == 0 ? x : std::min(least, x), largest = count == 0 ? x : std::max(largest, x);
      sum += x, count += 1;
    }
    double mean() const { return std::clamp(sum / count, least, largest); }
    void add_square(double x) { squares += (x - mean()) * (x - mean()); }
    double standard(double x, double eps) const {
      return count < 2 ? 0.0 : (x - mean()) / (std::sqrt(squares / (count - 1)) + eps);
    }
  };

  /// The tokens that rollouts of a step have in common.
  class Forest {
   public:
    explicit Forest(const Step& step)
        : parent_(step.named(column::parent).to(at::kLong).contiguous()),
          cut_(step.named(column::fork_token).to(at::kLong).contiguous()),
          length_(step.columns.offsets.diff().contiguous()),
          reward_(step.reward.contiguous()),
          root_(std::size_t(step.shape.rollouts)) {
      for (std::int64_t i = 0; i < step.shape.rollouts; ++i) {
        expect(parent(i) < i, "a fork comes behind the rollout that it was forked from");
        root_[std::size_t(i)] = parent(i) < 0 ? i : root_[std::size_t(parent(i))];
      }
    }

    /// Appends the stretches of rollout i of the group [first, last).
    void add_stretches(std::int64_t first, std::int64_t last, std::int64_t i,
                       std::vector<Stretch>& to) const {
      std::map<std::int64_t, std::vector<std::int64_t>> by_common;
      for (auto j = first; j < last; ++j)
        if (const std::int64_t common = in_common(i, j); common > 0) by_common[common].push_back(j);
      std::int64_t begin = 0;
      std::size_t depth = 0;
      for (auto at = by_common.begin(); at != by_common.end(); ++at) {
        Stretch stretch{.rollout = i, .begin = begin, .end = at->first, .depth = depth++};
        std::vector<std::int64_t> sharing;
        for (auto other = at; other != by_common.end(); ++other)
          sharing.insert(sharing.end(), other->second.begin(), other->second.end());
        std::sort(sharing.begin(), sharing.end());  // so that V is summed in the same order for all
                                                    // of them
        double sum = 0;
        for (const std::int64_t j : sharing) sum += reward_.const_data_ptr<double>()[j];
        stretch.sharing = double(sharing.size());
        stretch.value = sum / stretch.sharing;
        stretch.is_first = sharing.front() == i;
        to.push_back(stretch);
        begin = stretch.end;
      }
    }

   private:
    std::int64_t parent(std::int64_t i) const { return parent_.const_data_ptr<std::int64_t>()[i]; }
    std::int64_t cut(std::int64_t i) const { return cut_.const_data_ptr<std::int64_t>()[i]; }
    std::int64_t length(std::int64_t i) const { return length_.const_data_ptr<std::int64_t>()[i]; }

    /// The number of leading tokens that two rollouts have in common: the tokens that both took
    /// over from their nearest common ancestor.
    std::int64_t in_common(std::int64_t one, std::int64_t other) const {
      if (root_[std::size_t(one)] != root_[std::size_t(other)]) return 0;
      std::int64_t common = std::min(length(one), length(other));
      while (one != other) {
        std::int64_t& later = one > other ? one : other;
        common = std::min(common, cut(later));
        later = parent(later);
      }
      return common;
    }

    at::Tensor parent_, cut_, length_;  ///< [B] int64
    at::Tensor reward_;                 ///< [B]
    std::vector<std::int64_t> root_;  ///< [B] the rollout of its tree that nothing was shared with
  };
};

}  // namespace rollcall::objective
