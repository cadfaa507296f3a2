// The subset of a given size with the largest variance.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rollcall::scheduling {

/// [values] 1 for the members of the subset of `keep` values with the largest (population)
/// variance, else 0. The subset consists of the k smallest and the keep - k largest values for some
/// k (arXiv:2504.13818, lemma on max-variance down-sampling), so sorting and one scan find it.
/// Among subsets with equal variance, the one with fewer small values is taken; among equal values,
/// those with lower index.
std::vector<std::uint8_t> widest_subset(const std::vector<double>& values, std::size_t keep);

}  // namespace rollcall::scheduling
