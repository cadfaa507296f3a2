// Measures how much the answers to one prompt differ as sequences of tokens. It is the trajectory
// diversity score (TDS) of variance-aware sampling.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rollcall::scheduling {

/// The names of the measures: self_bleu and distinct_3.
const std::vector<std::string>& diversity_measures();

/// Diversity of a group's answers, from 0 (all are the same) to 1; NaN for fewer than two answers.
/// `answers`: [n][T] token ids. The measure is a row of diversity_measures():
///   self_bleu   1 - mean over answers i of BLEU(i; the other answers). BLEU is the geometric mean,
///               for n = 1 to 3, of the share of i's n-grams that other answers contain. An n-gram
///               of i counts at most as often as in the other answer that has most of it. BLEU is
///               multiplied by exp(1 - c / T_i) if i is shorter than the answer of the nearest
///               length, c.
///               A share of 0 is replaced by 0.1 / n-grams (Chen and Cherry 2014, method 1), but
///               BLEU is 0 if no token is common.
///   distinct_3  number of different 3-grams over number of all 3-grams in the group; 0 if there
///               are none
/// Source: TDS of arXiv:2509.21268, section 3.1, in the forms of the released
/// verl/curriculum/metrics.py. What differs: an answer of one or two tokens is compared by the
/// n-grams that it has. The released code counts a missing order as a share of 0.1, so that equal
/// answers of two tokens differ by half.
double diversity(std::string_view measure, std::span<const std::vector<std::int32_t>> answers);

}  // namespace rollcall::scheduling
