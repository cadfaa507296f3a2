// Paired tests: small ones counted by hand, Holm's correction, and how often a difference is found
// where there is none.
#include "report/paired_tests.hpp"

#include "base/errors/error.hpp"
#include "base/numbers/random.hpp"

#include <gtest/gtest.h>

namespace rollcall::report {
namespace {

PromptOutcome outcome(std::int32_t level, std::vector<std::uint8_t> correct) {
  return {level, std::move(correct), {}};
}

TEST(SignFlip, CountsThePatternsThatAreAsLarge) {
  // +++ and ---; a prompt that did not move says nothing
  EXPECT_DOUBLE_EQ(sign_flip_p({0.5, 0.5, 0.5, 0.0}, 100, 1), 2.0 / 8);
  // 0.75 is seen; of 1.75, 1.25, 0.75 and 0.25, two patterns each, one is smaller
  EXPECT_DOUBLE_EQ(sign_flip_p({0.25, -0.5, 1.0}, 100, 1), 6.0 / 8);
  EXPECT_DOUBLE_EQ(sign_flip_p({0.0, 0.0}, 100, 1), 1.0);
  EXPECT_DOUBLE_EQ(sign_flip_p(std::vector<double>(12, 0.125), 100, 1), 2.0 / 4096);
}

TEST(SignFlip, DrawnPatternsAgreeWithCountedOnes) {
  // Of 16 equal differences of which 12 are positive the sum is 8: P(|2 B(16, 1/2) - 16| >= 8) = 2
  // (1 + 16 + 120 + 560 + 1820) / 65536 = 0.0768.
  std::vector<double> differences(16, 1.0);
  for (std::size_t i = 0; i < 4; ++i) differences[i] = -1.0;
  EXPECT_NEAR(sign_flip_p(differences, 20000, 3), 0.0768, 0.006);
  EXPECT_EQ(sign_flip_p(differences, 500, 3), sign_flip_p(differences, 500, 3));
}

TEST(Holm, MultipliesBySmallerAndSmallerNumbersAndNeverFalls) {
  const auto corrected = holm({0.04, 0.01, 0.03, 0.9});
  // 4 x 0.01; 3 x 0.03; 2 x 0.04 = 0.08, at least the one before; 0.9
  const std::vector<double> expected{0.09, 0.04, 0.09, 0.9};
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(corrected[i], expected[i], 1e-12);
  EXPECT_TRUE(holm({}).empty());
}

TEST(PairedTests, AskForBothMeasuresAndEachLevel) {
  std::vector<PromptOutcome> before, after;
  for (int i = 0; i < 8; ++i)
    before.push_back(outcome(i % 2, {0, 0})),
        after.push_back(outcome(i % 2, {1, std::uint8_t(i % 2)}));
  const auto tests = paired_tests(before, after, 2, 100, 1);
  ASSERT_EQ(tests.size(), 4U);
  EXPECT_EQ(tests[0].measure, "pass_at_1");
  EXPECT_EQ(tests[1].measure, "pass_at_2");
  EXPECT_EQ(tests[3].measure, "pass_at_1_level_1");
  EXPECT_DOUBLE_EQ(tests[0].gain, 0.75);
  EXPECT_DOUBLE_EQ(tests[1].p, 2.0 / 256);
  EXPECT_DOUBLE_EQ(tests[2].p, 2.0 / 16);
  EXPECT_DOUBLE_EQ(tests[1].p_holm, 4 * 2.0 / 256);
  EXPECT_DOUBLE_EQ(tests[3].p_holm, 2 * 2.0 / 16);
  after.pop_back();
  EXPECT_THROW(paired_tests(before, after, 2, 100, 1), InputError);
}

TEST(PairedTests, FindNothingTooOftenWhereNothingChanged) {
  // 8 levels and two measures: uncorrected, one of ten tests at 0.05 would be found by chance in
  // about a third of the evaluations.
  int found = 0;
  for (std::uint64_t trial = 0; trial < 150; ++trial) {
    std::vector<PromptOutcome> outcomes[2];
    for (std::uint64_t side = 0; side < 2; ++side) {
      for (std::uint64_t i = 0; i < 80; ++i) {
        const RandomStream stream(17, RandomPurpose::bootstrap, trial, side, i);
        outcomes[side].push_back(outcome(
            std::int32_t(i % 8),
            {std::uint8_t(stream.uniform(0) < 0.5), std::uint8_t(stream.uniform(1) < 0.5)}));
      }
    }
    const auto tests = paired_tests(outcomes[0], outcomes[1], 2, 200, trial);
    found +=
        std::any_of(tests.begin(), tests.end(), [](const PairedTest& t) { return t.p_holm < 0.05; })
            ? 1
            : 0;
  }
  EXPECT_LE(found, 15);  // 7.5 expected at most
}

}  // namespace
}  // namespace rollcall::report
