// The generators behind the rule verifiers: hand-checked answers found again by other means, and
// levels that grow.
#include "base/text/json.hpp"
#include "task/graph_solvers.hpp"
#include "task/task.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <sstream>

namespace rollcall::task {
namespace {

std::vector<Prompt> train_of(const std::string& name, std::int64_t count = 600) {
  TaskSection s;
  s.name = name, s.train_prompts = count, s.min_level = 1, s.max_level = 12, s.tail_exponent = 0;
  return find_task(name).make(s, 9).train;
}

/// Whether person i's claim ("BN", "A=C", "A#C", "1K") holds where `kinds` says who is a knight.
bool holds(const std::string& claim, const std::string& kinds) {
  const auto kind = [&](char person) { return kinds.at(std::size_t(person - 'A')); };
  if (claim.size() == 2 && claim[0] <= '9')
    return std::count(kinds.begin(), kinds.end(), 'K') == claim[0] - '0';
  if (claim.size() == 2) return kind(claim[0]) == claim[1];
  return (kind(claim[0]) == kind(claim[2])) == (claim[1] == '=');
}

TEST(KnightsKnaves, OneWorldAloneFitsWhatIsSaid) {
  for (const Prompt& p : train_of("knights_knaves")) {
    std::vector<std::string> claims;
    std::istringstream in(p.text.substr(0, p.text.size() - 1));
    for (std::string said; in >> said;) claims.push_back(said.substr(2));
    ASSERT_EQ(std::int32_t(claims.size()), p.level);
    std::vector<std::string> worlds;
    for (std::uint32_t world = 0; world < 1U << claims.size(); ++world) {
      std::string kinds;
      for (std::size_t i = 0; i < claims.size(); ++i) kinds += (world >> i & 1U) != 0 ? 'K' : 'N';
      bool fits = true;
      for (std::size_t i = 0; i < claims.size(); ++i)
        fits = fits && holds(claims[i], kinds) == (kinds[i] == 'K');
      if (fits) worlds.push_back(kinds);
    }
    EXPECT_EQ(worlds, std::vector<std::string>{p.answer}) << p.text;
  }
}

/// What a value or sum, truth or list of the plain text is.
nlohmann::json worked_out(const std::string& text) {
  if (text[0] == '[') return {worked_out(text.substr(1, 3)), worked_out(text.substr(5, 3))};
  if (text.size() == 3 && text[1] == '+') return text[0] - '0' + text[2] - '0';
  if (text.size() == 3 && text[1] == '<') return text[0] < text[2];
  return text;
}

TEST(Json, ValuesAreWhatThePlainTextSays) {
  for (const Prompt& p : train_of("json")) {
    const auto value = nlohmann::json::parse(p.solution);
    if (p.level > 4) continue;  // nested
    std::string text = p.text.substr(0, p.text.size() - 1);
    std::size_t leaves = 0;
    for (const auto& [key, held] : value.items()) {
      const auto end = text.find(std::string(",") + char(key[0] + 1) + "=");
      EXPECT_EQ(worked_out(text.substr(2, end - 2)), held) << p.text;
      text = end == std::string::npos ? "" : text.substr(end + 1);
      leaves += held.is_array() ? held.size() : 1;
    }
    EXPECT_EQ(leaves, std::size_t(p.level));
  }
}

TEST(Units, HandWorked) {
  std::map<std::string, std::string> known;
  for (const Prompt& p : train_of("units", 6000)) known[p.text] = p.solution;
  const std::map<std::string, double> factors = {
      {"km=m", 1000},     {"m=km", 1e-3},         {"h=s", 3600},       {"ft=in", 12},
      {"mi=m", 1609.344}, {"in=cm", 2.54},        {"lb=g", 453.59237}, {"ha=m2", 1e4},
      {"m/s=km/h", 3.6},  {"gal=L", 3.785411784}, {"d=min", 1440},     {"t=mg", 1e9}};
  std::map<std::string, int> seen;
  for (const auto& [text, answer] : known) {
    const auto unit = text.find_first_not_of("0123456789.");
    const double value = std::stod(text.substr(0, unit)), given = std::stod(answer);
    const std::string units = text.substr(unit, text.size() - unit - 1);
    ++seen[units];
    const auto factor = factors.find(units);
    const double expected =
        units == "C=F"   ? value * 1.8 + 32
        : units == "F=C" ? (value - 32) / 1.8
        : units == "C=K" ? value + 273.15
                         : value * (factor != factors.end() ? factor->second : given / value);
    EXPECT_NEAR(given, expected, 1e-9 * std::max(1.0, std::abs(given))) << text;
  }
  for (const char* units : {"km=m", "h=s", "mi=m", "in=cm", "C=F", "F=C", "C=K"})
    EXPECT_GT(seen[units], 0) << units;
}

TEST(GraphTask, EveryFamilyIsAskedAtEveryLevel) {
  std::map<std::string, std::set<int>> levels;
  int none = 0;
  for (const Prompt& p : train_of("graph", 3000)) {
    levels[p.domain].insert(p.level);
    none += p.solution == "none" ? 1 : 0;
    EXPECT_EQ(nlohmann::json::parse(p.answer).at("nodes"), p.level);
  }
  EXPECT_EQ(levels.size(), 7U);
  for (const auto& [family, known] : levels) EXPECT_GE(known.size(), 9U) << family;
  EXPECT_GT(none, 20);
}

TEST(MultipleChoice, TheRightOptionIsAnywhere) {
  std::map<std::string, int> letters;
  for (const Prompt& p : train_of("multiple_choice", 3000)) {
    if (p.level == 4) ++letters[p.solution];
    EXPECT_EQ(std::int32_t(nlohmann::json::parse(p.answer).at("options").size()), p.level);
  }
  ASSERT_EQ(letters.size(), 4U);
  // five standard deviations
  for (const auto& [letter, count] : letters) EXPECT_NEAR(count, 3000 / 9. / 4, 46) << letter;
}

TEST(Rules, PromptsGrowWithTheLevel) {
  for (const char* name : {"tags", "json", "instructions", "multiple_choice", "word_sorting",
                           "graph", "knights_knaves", "units"}) {
    std::map<int, std::pair<double, int>> lengths;
    for (const Prompt& p : train_of(name, 2000))
      lengths[p.level].first += double(p.text.size() + p.solution.size()),
          ++lengths[p.level].second;
    ASSERT_GE(lengths.size(), 7U) << name;
    double before = 0;
    for (const auto& [level, sum] : lengths) {
      // words of other lengths stand at neighbouring levels
      EXPECT_GT(sum.first / sum.second, before * 0.9) << name << " " << level;
      before = sum.first / sum.second;
    }
    const auto& [characters, prompts] = lengths.begin()->second;
    EXPECT_GT(before, 1.15 * characters / prompts) << name << ": the last level beside the first";
  }
}

}  // namespace
}  // namespace rollcall::task
