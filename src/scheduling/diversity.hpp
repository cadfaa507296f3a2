// How much answers to one prompt differ as sequences of tokens: the trajectory diversity of
// variance-aware sampling.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rollcall::scheduling {

/// self_bleu | distinct_3
const std::vector<std::string>& diversity_measures();

/// Of a group's answers, [n][T] token ids each, by a row of diversity_measures(); from 0, all the
/// same, to 1. NaN for fewer than two answers.
///   self_bleu   1 - the mean over answers i of BLEU(i; the others): the geometric mean of the
///   shares of i's n-grams that another answer has, n = 1 to 3, where an
///               n-gram counts as often as the answer that has most of it, times exp(1 - c / T_i)
///               where i is shorter than the answer nearest in length, c. A share of 0 counts as
///               0.1 / n-grams (Chen and Cherry 2014, method 1), but without a common token BLEU is
///               0
///   distinct_3  different 3-grams over all 3-grams of the group; 0 where there are none
/// TDS of arXiv:2509.21268, section 3.1, with the forms of its released verl/curriculum/metrics.py.
/// Different from there: an answer of one or two tokens is compared by the n-grams that it has,
/// where a missing order counts as a share of 0.1 there and equal answers of two tokens differ by
/// half.
double diversity(std::string_view measure, std::span<const std::vector<std::int32_t>> answers);

}  // namespace rollcall::scheduling
