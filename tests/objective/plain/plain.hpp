// The pieces written as double loops, by family and name: the truth that the tensor versions are
// compared with.
#pragma once

#include "objective/recipes.hpp"
#include "plain_step.hpp"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace rollcall::objective::test {

using Column = std::vector<double>;  ///< [N], tokens of the rollouts one after the other

/// Per-token losses. Where the piece stops a gradient, `slope` says what is left of dL_it / d
/// lp_it; empty: the test differentiates numerically the sum that the coefficients make of `loss`.
struct TokenLosses {
  Column loss, slope{}, entropy_slope{}, value_slope{};
};
struct PlainWeight {
  Column factor{}, keep{};  ///< empty: 1
};

/// Pieces with the defaults of their cards, or the settings in PlainStep::knobs.
struct PlainPieces {
  std::map<std::string, std::function<std::vector<double>(const PlainStep&)>> reward;  ///< [B]
  std::map<std::string, std::function<Column(const PlainStep&)>> advantage;
  std::map<std::string, std::function<Column(const PlainStep&)>> ratio;
  std::map<std::string, std::function<TokenLosses(const PlainStep&, const Column& advantage,
                                                  const Column& ratio)>>
      surrogate;
  std::map<std::string, std::function<PlainWeight(const PlainStep&, const Column& advantage)>>
      weight;
  std::map<std::string,
           std::function<Column(const PlainStep&, const Column& advantage, const Column& keep)>>
      aggregate;
  std::map<std::string, std::function<TokenLosses(const PlainStep&)>> regularizer;
};

const PlainPieces& plain_pieces();  ///< plain.cpp: the files of this folder, put together

// One function a file of this folder.
void add_foundation(PlainPieces& pieces);
void add_clipping(PlainPieces& pieces);
void add_corrections(PlainPieces& pieces);
void add_offpolicy(PlainPieces& pieces);
void add_group_losses(PlainPieces& pieces);
void add_regularizers(PlainPieces& pieces);
void add_value(PlainPieces& pieces);
void add_baselines(PlainPieces& pieces);
void add_baselines_more(PlainPieces& pieces);
void add_shaping(PlainPieces& pieces);
void add_credit(PlainPieces& pieces);
void add_rewards(PlainPieces& pieces);
void add_second_pass(PlainPieces& pieces);
void add_conversations(PlainPieces& pieces);
void add_turns(PlainPieces& pieces);
void add_forks(PlainPieces& pieces);

/// What a recipe makes of a step before the current policy is known, by plain loops. Throws
/// std::out_of_range when a piece has no plain version.
struct PlainPrepared {
  Column advantage, factor, keep, coefficient;  ///< coefficient: of the aggregate, times keep
};
PlainPrepared plain_prepare(const Recipe& recipe, PlainStep step);

/// "a+b" -> a, b; "none" -> nothing
std::vector<std::string> split_names(std::string_view joined);

/// Sum of c L by numerical differentiation in every log-prob, between two moves of it.
Column numerical_slope(PlainStep step, const std::function<double(const PlainStep&)>& total,
                       double below = -1e-6, double above = 1e-6);

/// 0 of nothing; never outside the values, so that of equal ones it is the value.
double mean_of(const std::vector<double>& x);

/// Mean, spread (n - 1) and size of each rollout's group.
struct GroupMoments {
  double mean = 0, spread = 0, population_spread = 0;
  int size = 0;
};
GroupMoments moments_of_group(const PlainStep& step, std::int64_t group);
Column over_tokens(const PlainStep& step, const std::vector<double>& per_rollout);

/// Helpers of the pieces that other tests name directly.
Column plain_aggregate(const std::string& name, const PlainStep& step);
Column plain_advantage(const std::string& name, const PlainStep& step);
struct ClippedToken {
  double loss;
  bool clipped;
};
/// One token of the clipped surrogate, by cases instead of by max and min.
ClippedToken plain_clip(double ratio, double advantage, double low, double high, double dual = 0.0);

}  // namespace rollcall::objective::test
