// Computes the Levenshtein distance with one row of memory.
#include "base/errors/nearest.hpp"

#include "base/errors/faults.hpp"
#include "base/text/joined.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <numeric>

namespace rollcall {
namespace {

// Characters of a name that are compared. More add nothing, and the time grows with the square.
constexpr std::size_t kLongest = 128;
constexpr std::size_t kListed = 20;  // names that a message lists at most

std::size_t edit_distance(std::string_view a, std::string_view b) {
  a = a.substr(0, kLongest);
  b = b.substr(0, kLongest);
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
  std::string best;
  std::size_t distance = std::numeric_limits<std::size_t>::max();
  for (const auto& candidate : valid) {
    if (const auto d = edit_distance(name, candidate); d < distance) distance = d, best = candidate;
  }
  return best;
}

bool is_near(std::string_view name, std::string_view other) {
  constexpr std::size_t kTelling = 3;  // shorter names occur in many others
  const auto holds = [](std::string_view whole, std::string_view part) {
    return part.size() >= kTelling && whole.find(part) != std::string_view::npos;
  };
  if (holds(other, name) || holds(name, other)) return true;
  const std::size_t shorter = std::min(name.size(), other.size());
  // 2 allows for two letters that are swapped
  return edit_distance(name, other) <= std::max<std::size_t>(shorter < 4 ? 1 : 2, shorter / 3);
}

std::string valid_names(const std::vector<std::string>& valid, std::string_view lister) {
  return valid.size() > kListed ? fmt::format("{} lists all of them", lister)
                                : fmt::format("valid are {}", joined(valid, ", "));
}

std::string suggest_name(std::string_view name, const std::vector<std::string>& valid,
                         std::string_view lister) {
  const std::string nearest = nearest_name(name, valid);
  if (!is_near(name, nearest)) return valid_names(valid, lister);
  const std::string guess = fmt::format("did you mean {}?", nearest);
  return valid.size() > kListed ? guess : guess + " " + valid_names(valid, lister);
}

}  // namespace rollcall
