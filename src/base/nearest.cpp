// Levenshtein distance in one row.
#include "base/nearest.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <numeric>

namespace rollcall {
namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t substitute = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({substitute, row[j] + 1, diagonal + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string nearest_name(std::string_view name, const std::vector<std::string>& valid) {
  constexpr std::size_t kLongest = 128;  // characters; what follows tells no more, and the distance takes time with its square
  name = name.substr(0, kLongest);
  std::string best;
  std::size_t distance = std::numeric_limits<std::size_t>::max();
  for (const auto& candidate : valid) {
    if (const auto d = edit_distance(name, candidate); d < distance) distance = d, best = candidate;
  }
  return best;
}

std::string suggest_name(std::string_view name, const std::vector<std::string>& valid) {
  if (valid.size() > 20) return fmt::format("did you mean {}?", nearest_name(name, valid));
  return fmt::format("did you mean {}? valid are {}", nearest_name(name, valid), fmt::join(valid, ", "));
}

}  // namespace rollcall
