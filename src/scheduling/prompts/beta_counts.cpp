// Gamma variables by squeeze and rejection (Marsaglia and Tsang 2000). A Beta variable is the share
// of one of them in the sum of two.
#include "scheduling/prompts/beta_counts.hpp"

#include "base/text/json.hpp"

#include <algorithm>
#include <cmath>

namespace rollcall::scheduling {
namespace {

constexpr std::uint64_t kDraws = 64;  // random numbers reserved for a Gamma variable: 31 attempts,
                                      // each of which succeeds more than 19 times out of 20

/// The logarithm of a Gamma(a) variable, because Gamma(a) underflows for small a.
double log_gamma_draw(const RandomStream& stream, std::uint64_t first, double a) {
  const double boosted = a < 1 ? a + 1 : a;  // Gamma(a) = Gamma(a + 1) * U^(1/a)
  const double d = boosted - 1.0 / 3.0, c = 1.0 / std::sqrt(9.0 * d);
  double log_value = std::log(d);
  for (std::uint64_t i = first; i + 1 < first + kDraws - 1; i += 2) {
    const double x = stream.normal(i), root = 1.0 + c * x, v = root * root * root;
    if (v <= 0) continue;
    const double u = stream.uniform(i + 1);
    // a quick test without logarithms, which accepts only values that the exact test accepts
    const bool squeezed = u > 0.0331 * (x * x) * (x * x);
    if (!squeezed && std::log1p(-u) >= 0.5 * x * x + d - d * v + d * std::log(v)) continue;
    log_value = std::log(d * v);
    break;
  }
  if (a < 1) log_value += std::log1p(-stream.uniform(first + kDraws - 1)) / a;
  return log_value;
}

}  // namespace

double draw_beta(const RandomStream& stream, std::uint64_t index, double a, double b) {
  const double x = log_gamma_draw(stream, 2 * index * kDraws, a),
               y = log_gamma_draw(stream, (2 * index + 1) * kDraws, b);
  return 1.0 / (1.0 + std::exp(y - x));
}

nlohmann::json beta_rows(const BetaTable& table) {
  auto rows = nlohmann::json::array();
  // doubles print shortest and read back exactly
  for (const auto& [prompt, c] : table) rows.push_back({prompt, c.right, c.wrong, c.step});
  return rows;
}

BetaTable beta_table(const nlohmann::json& rows) {
  BetaTable table;
  for (const auto& row : rows)
    table[row.at(0).get<std::uint64_t>()] = {row.at(1).get<double>(), row.at(2).get<double>(),
                                             row.at(3).get<std::uint64_t>()};
  return table;
}

}  // namespace rollcall::scheduling
