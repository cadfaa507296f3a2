// A step's figures from its updates': means, extremes, sums, the first and the last; one update
// leaves every bit.
#include "run/update/step_figures.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <bit>
#include <cstdint>

namespace rollcall::run {
namespace {

using Figures = StepFigures::Figures;

TEST(StepFigures, AreThoseOfAllUpdates) {
  StepFigures figures;
  figures.add({{"actor/pg_clipfrac", 0.0},
               {"actor/ppo_kl", 0.0},
               {"actor/ratio_min", 1.0},
               {"actor/ratio_max", 1.0},
               {"timing_s/publish", 1.0}});
  figures.add({{"actor/pg_clipfrac", 0.5},
               {"actor/ppo_kl", 0.25},
               {"actor/ratio_min", 0.5},
               {"actor/ratio_max", 3.0},
               {"timing_s/publish", 2.0}});
  figures.add({{"actor/pg_clipfrac", 0.25},
               {"actor/ppo_kl", 0.125},
               {"actor/ratio_min", 0.75},
               {"actor/ratio_max", 2.0},
               {"timing_s/publish", 4.0}});
  const Figures expected = {{"actor/pg_clipfrac", 0.25},      {"actor/pg_clipfrac_first", 0.0},
                            {"actor/pg_clipfrac_last", 0.25}, {"actor/ppo_kl", 0.125},
                            {"actor/ppo_kl_first", 0.0},      {"actor/ppo_kl_last", 0.125},
                            {"actor/ratio_min", 0.5},         {"actor/ratio_min_first", 1.0},
                            {"actor/ratio_min_last", 0.75},   {"actor/ratio_max", 3.0},
                            {"actor/ratio_max_first", 1.0},   {"actor/ratio_max_last", 2.0},
                            {"timing_s/publish", 7.0}};
  EXPECT_EQ(figures.take({}, true), expected);
  EXPECT_TRUE(figures.take({}, true).empty()) << "the next step begins anew";
}

TEST(StepFigures, OfRolloutsAreTheSteps) {
  StepFigures figures;
  figures.add({{"critic/score/mean", 0.0}, {"actor/entropy", 1.0}}),
      figures.add({{"critic/score/mean", 1.0}, {"actor/entropy", 2.0}});
  EXPECT_EQ(figures.take({{"critic/score/mean", 0.25}}, true),
            (Figures{{"actor/entropy", 1.5}, {"critic/score/mean", 0.25}}));
}

TEST(StepFigures, AreMeansOverTheUpdatesThatHaveThem) {
  StepFigures figures;
  figures.add({{"actor/entropy", 1.0}}),
      figures.add({{"actor/entropy", 1.0}, {"replay/ratio_mean", 3.0}, {"actor/lr_factor", 0.5}});
  EXPECT_EQ(
      figures.take({}, true),
      (Figures{{"actor/entropy", 1.0}, {"actor/lr_factor", 0.75}, {"replay/ratio_mean", 3.0}}))
      << "without a factor it is 1";
}

TEST(StepFigures, OneUpdateLeavesEveryBit) {
  EXPECT_TRUE(rc::check("a run of one update a step", [] {
    const std::vector<std::string> names{"actor/pg_clipfrac", "actor/ratio_min",  "actor/ratio_max",
                                         "critic/score/max",  "timing_s/publish", "actor/pg_loss"};
    Figures update;
    for (const auto& name : names)
      update[name] = std::bit_cast<double>(*rc::gen::arbitrary<std::uint64_t>());
    StepFigures figures;
    figures.add(update);
    Figures taken = figures.take({}, false);
    for (const char* name : {"actor/ratio_min", "actor/ratio_max"}) {
      RC_ASSERT(std::bit_cast<std::uint64_t>(taken.at(std::string(name) + "_last")) ==
                std::bit_cast<std::uint64_t>(update.at(name)));
      taken.erase(std::string(name) + "_last");
    }
    RC_ASSERT(taken.size() == update.size());
    for (const auto& [name, value] : update)
      RC_ASSERT(std::bit_cast<std::uint64_t>(taken.at(name)) ==
                std::bit_cast<std::uint64_t>(value));
  }));
}

}  // namespace
}  // namespace rollcall::run
