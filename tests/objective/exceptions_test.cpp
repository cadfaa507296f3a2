// Exceptions name what exists, give a reason, and are needed: what is excused would fail.
#include "exceptions.hpp"
#include "properties.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace rollcall::objective::test {
namespace {

TEST(ConformanceExceptions, NamePiecesAndRowsThatExist) {
  std::vector<std::string> valid;
  for (const auto& recipe : recipes()) valid.push_back("recipe " + std::string(recipe.name));
  for (const auto& card : piece_cards()) valid.push_back(card.family + " " + card.name);
  for (const auto& e : exceptions()) {
    EXPECT_NE(std::find(valid.begin(), valid.end(), e.who), valid.end()) << e.who;
    EXPECT_NE(e.reason, "") << e.who;
  }
}

bool breaks(const std::string& property, const Subject& s) {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    if (!holds(property, s, seed)) return true;
  }
  return false;
}

/// Does another exception excuse the row from the property as well?
bool excused_anyway(const Recipe& recipe, const Exception& e) {
  const auto names = members(recipe);
  return std::any_of(exceptions().begin(), exceptions().end(), [&](const Exception& other) {
    return other.property == e.property && other.who != e.who &&
           std::find(names.begin(), names.end(), other.who) != names.end();
  });
}

/// The piece in the place of grpo's, with what it is half of a pair with.
Settings in_grpo(const std::string& family, const std::string& name) {
  const std::map<std::string, std::pair<std::string, std::string>> halves = {
      {"gae", {"regularizer", "value"}},
      {"macro_gae", {"regularizer", "value"}},
      {"kl_controller", {"regularizer", "kl"}},
      {"entropy_history", {"regularizer", "entropy_band"}},
      {"entropy_band", {"reward", "entropy_history"}},
      {"entropy_controller", {"regularizer", "adaptive_entropy"}},
      {"adaptive_entropy", {"reward", "entropy_controller"}}};
  Settings pieces{{family, name}};
  if (const auto half = halves.find(name); half != halves.end()) pieces.push_back(half->second);
  return pieces;
}

/// A row breaks the property that nothing else excuses it from; or the piece does when it takes its
/// place in grpo, as a run file may put it.
bool needed(const Exception& e) {
  const auto space = e.who.find(' ');
  const std::string family = e.who.substr(0, space), name = e.who.substr(space + 1);
  for (const auto& recipe : recipes()) {
    const auto names = members(recipe);
    if (std::find(names.begin(), names.end(), e.who) == names.end() || excused_anyway(recipe, e))
      continue;
    if (breaks(e.property, Subject(std::string(recipe.name)))) return true;
  }
  return family != "recipe" && breaks(e.property, Subject("grpo", in_grpo(family, name)));
}

TEST(ConformanceExceptions, AreNeeded) {
  for (const auto& e : exceptions()) {
    EXPECT_TRUE(needed(e))
        << e.who << " is excused from " << e.property
        << ", which nothing that it is in breaks on 200 steps: delete the exception";
  }
}

TEST(ConformanceExceptions, ExcuseNoRowThatNeedsNoExcuse) {
  for (const auto& recipe : recipes()) {
    const auto names = members(recipe);
    std::map<std::string, std::string> excused;  // property -> who
    for (const auto& e : exceptions()) {
      if (std::find(names.begin(), names.end(), e.who) != names.end())
        excused.emplace(e.property, e.who);
    }
    for (const auto& [property, who] : excused) {
      EXPECT_TRUE(breaks(property, Subject(std::string(recipe.name))))
          << recipe.name << " is excused from " << property << " as " << who << ", and fulfils it";
    }
  }
}

}  // namespace
}  // namespace rollcall::objective::test
