// pass@k against its definition, majority votes, bootstrap intervals, JSON and table.
#include "base/errors/error.hpp"
#include "base/numbers/random.hpp"
#include "base/text/json.hpp"
#include "report/evaluation_table.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>

namespace rollcall::report {
namespace {

double binomial(std::int64_t n, std::int64_t k) {
  return k > n ? 0.0
               : std::exp(std::lgamma(n + 1.0) - std::lgamma(k + 1.0) - std::lgamma(n - k + 1.0));
}

PromptOutcome outcome(std::int32_t level, std::vector<std::uint8_t> correct,
                      std::vector<std::string> answers = {}) {
  return {level, std::move(correct), std::move(answers)};
}

TEST(PassAtK, HandWorked) {
  EXPECT_DOUBLE_EQ(pass_at_k(4, 1, 2), 0.5);  // 1 - C(3,2)/C(4,2) = 1 - 3/6
  EXPECT_DOUBLE_EQ(pass_at_k(5, 2, 3), 0.9);  // 1 - C(3,3)/C(5,3)
  EXPECT_DOUBLE_EQ(pass_at_k(10, 3, 1), 0.3);
  EXPECT_EQ(pass_at_k(8, 0, 8), 0.0);
  EXPECT_EQ(pass_at_k(8, 8, 1), 1.0);
  EXPECT_EQ(pass_at_k(8, 5, 4), 1.0);  // fewer than k wrong
}

TEST(PassAtK, EqualsTheBinomialFormAndIsMonotone) {
  EXPECT_TRUE(rc::check("1 - C(n-c,k)/C(n,k), not falling in c and k", [] {
    const auto n = *rc::gen::inRange<std::int64_t>(1, 200),
               c = *rc::gen::inRange<std::int64_t>(0, n + 1),
               k = *rc::gen::inRange<std::int64_t>(1, n + 1);
    const double p = pass_at_k(n, c, k);
    RC_ASSERT(std::abs(p - (1.0 - binomial(n - c, k) / binomial(n, k))) < 1e-9);
    RC_ASSERT(0.0 <= p && p <= 1.0);
    if (c < n) RC_ASSERT(pass_at_k(n, c + 1, k) >= p - 1e-15);
    if (k < n) RC_ASSERT(pass_at_k(n, c, k + 1) >= p - 1e-15);
  }));
}

TEST(PassAtK, RefusesWhatHasNoMeaning) {
  EXPECT_THROW(pass_at_k(4, 1, 5), InputError);
  EXPECT_THROW(pass_at_k(4, 5, 2), InputError);
  EXPECT_THROW(pass_at_k(4, -1, 2), InputError);
  EXPECT_THROW(pass_at_k(4, 1, 0), InputError);
}

TEST(MajorityAtK, TheMostFrequentAnswerOfTheFirstK) {
  const auto o = outcome(1, {0, 1, 1, 0, 0, 0}, {"a", "b", "b", "a", "a", "a"});
  EXPECT_EQ(majority_at_k(o, 1), 0.0);
  EXPECT_EQ(majority_at_k(o, 2), 0.0);  // tie: the earliest
  EXPECT_EQ(majority_at_k(o, 3), 1.0);
  EXPECT_EQ(majority_at_k(o, 4), 0.0);                                     // tie again
  EXPECT_EQ(majority_at_k(outcome(1, {0, 0, 1}, {"", "", "x"}), 3), 1.0);  // no answer is no vote
  EXPECT_EQ(majority_at_k(outcome(1, {0, 0}, {"", ""}), 2), 0.0);
  EXPECT_TRUE(std::isnan(majority_at_k(outcome(1, {1, 0}), 2)));  // answers were not kept
  EXPECT_TRUE(std::isnan(majority_at_k(outcome(1, {1, 0}, {"", "x"}), 2)))
      << "nothing says its vote";
  EXPECT_EQ(majority_at_k(outcome(1, {0, 1}, {"x", ""}), 1), 0.0);
  EXPECT_THROW(majority_at_k(o, 7), InputError);
}

std::vector<PromptOutcome> coins(int prompts, double rate, std::uint64_t seed) {
  std::vector<PromptOutcome> all;
  for (int i = 0; i < prompts; ++i) {
    PromptOutcome o = outcome(2 + i % 3, {});
    for (std::uint64_t s = 0; s < 8; ++s) {
      seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;  // Knuth's MMIX generator
      o.correct.push_back(double(seed >> 11) * 0x1.0p-53 < rate);
      o.answers.push_back(o.correct.back() ? "right" : "wrong");
    }
    all.push_back(std::move(o));
  }
  return all;
}

TEST(Evaluate, MeansLevelsAndIntervals) {
  const Evaluation e = evaluate(
      {outcome(3, {1, 0, 0, 0}), outcome(2, {1, 1, 1, 1}), outcome(3, {0, 0, 0, 0})}, 2, 200, 1);
  EXPECT_EQ(e.prompts, 3);
  EXPECT_EQ(e.samples, 12);
  EXPECT_DOUBLE_EQ(e.pass_at_1.mean, 1.25 / 3);
  EXPECT_DOUBLE_EQ(e.pass_at_k.mean, 0.5);
  ASSERT_EQ(e.levels.size(), 2U);
  EXPECT_EQ(e.levels[0].level, 2);
  EXPECT_EQ(e.levels[1].prompts, 2);
  EXPECT_DOUBLE_EQ(e.levels[1].pass_at_1, 0.125);
  EXPECT_DOUBLE_EQ(e.levels[1].pass_at_k, 0.25);
  EXPECT_TRUE(std::isnan(e.majority_at_k.mean));
  EXPECT_THROW(evaluate({}, 1, 100, 1), InputError);
}

TEST(Evaluate, TheBootstrapFindsTheStandardError) {
  const auto outcomes = coins(400, 0.3, 5);
  const Evaluation e = evaluate(outcomes, 4, 2000, 1);
  double square = 0.0;
  for (const auto& o : outcomes) {
    const double p = double(std::count(o.correct.begin(), o.correct.end(), 1)) / 8.0;
    square += (p - e.pass_at_1.mean) * (p - e.pass_at_1.mean);
  }
  const double error = std::sqrt(square / 400 / 400);  // normal theory: the interval is mean +-
                                                       // 1.96 error
  EXPECT_NEAR(e.pass_at_1.high - e.pass_at_1.low, 2 * 1.96 * error, 0.15 * 2 * 1.96 * error);
  EXPECT_LT(e.pass_at_1.low, e.pass_at_1.mean);
  const Evaluation again = evaluate(outcomes, 4, 2000, 1), other = evaluate(outcomes, 4, 2000, 2);
  EXPECT_EQ(to_json(e), to_json(again));
  EXPECT_NE(e.pass_at_1.low, other.pass_at_1.low);
}

/// Shares of the trials in which the truth lies below and above the interval.
struct Misses {
  double below = 0.0, above = 0.0;
};

/// `trials` evaluations of `prompts` prompts; in each prompt so many of 8 samples are right as the
/// inverse distribution function says of a uniform number.
template <class Quantile, class Interval>
Misses misses(int trials, int prompts, double truth, Quantile right_at, Interval interval_of) {
  Misses share;
  for (int trial = 0; trial < trials; ++trial) {
    std::vector<PromptOutcome> outcomes;
    const RandomStream stream(7, RandomPurpose::test, std::uint64_t(trial));
    for (int i = 0; i < prompts; ++i) {
      const int right = right_at(stream.uniform(std::uint64_t(i)));
      outcomes.push_back(outcome(1, {}));
      for (int s = 0; s < 8; ++s) outcomes.back().correct.push_back(s < right);
    }
    const auto interval = interval_of(outcomes, std::uint64_t(trial));
    share.below += (truth < interval.low) / double(trials),
        share.above += (truth > interval.high) / double(trials);
  }
  return share;
}

// The interval is to hold the truth in 95 of 100 evaluations and to miss it as often on either
// side. 2000 trials know a share of 2.5 % up to 0.35 %; means of 60 values and 300 resamples miss a
// little more often than the 2.5 % of infinitely many. One quantile at 5 % in place of 2.5 % is six
// standard errors away.
TEST(Evaluate, TheIntervalHoldsTheTruthInNinetyFiveOfAHundred) {
  const auto even = [](double u) { return int(9 * u); };  // 0 to 8 of 8 equally often: the mean is
                                                          // 1/2
  const auto gain = [](const std::vector<PromptOutcome>& after, std::uint64_t seed) {
    const std::vector<PromptOutcome> before(after.size(), outcome(1, {0}));
    return paired_gain(before, after, 1, 300, seed);
  };
  const Misses paired = misses(2000, 60, 0.5, even, gain);
  EXPECT_NEAR(paired.below, 0.0275, 0.011);
  EXPECT_NEAR(paired.above, 0.0275, 0.011);
  // Skewed: a fifth of the prompts are solved by 5 of 8 samples, the others by none. The mean is
  // 1/8, and the short side of the interval misses more often.
  const auto rare = [](double u) { return u < 0.2 ? 5 : 0; };
  const auto pass = [](const std::vector<PromptOutcome>& outcomes, std::uint64_t seed) {
    return evaluate(outcomes, 1, 200, seed).pass_at_1;
  };
  const Misses skewed = misses(500, 60, 0.125, rare, pass);
  EXPECT_NEAR(skewed.below + skewed.above, 0.06, 0.03);
}

TEST(PairedGain, PairsPromptsAndSoIsTighter) {
  auto before = coins(200, 0.4, 9), after = before;
  // one more right in every prompt that can
  for (auto& o : after) *std::find(o.correct.begin(), o.correct.end() - 1, 0) = 1;
  const Interval gain = paired_gain(before, after, 1, 500, 1);
  EXPECT_NEAR(gain.mean, 0.125, 0.01);
  EXPECT_LT(gain.high - gain.low, 0.01);  // unpaired, the spread between prompts would make it ten
                                          // times wider
  EXPECT_EQ(paired_gain(before, before, 1, 100, 1).high, 0.0);
  after.pop_back();
  EXPECT_THROW(paired_gain(before, after, 1, 100, 1), InputError);
}

TEST(ToJson, KeysCarryTheK) {
  const auto j = nlohmann::json::parse(to_json(evaluate(coins(20, 0.5, 3), 4, 50, 1)));
  for (const char* key : {"pass_at_1", "pass_at_4", "maj_at_4"}) {
    EXPECT_TRUE(j.at(key).is_number()) << key;
    EXPECT_EQ(j.at(std::string(key) + "_ci95").size(), 2U) << key;
  }
  EXPECT_EQ(j.at("prompts"), 20);
  EXPECT_EQ(j.at("samples"), 160);
  EXPECT_EQ(j.at("levels").size(), 3U);
  EXPECT_TRUE(j.at("levels")[0].contains("pass_at_4"));
  const auto without = nlohmann::json::parse(to_json(evaluate({outcome(1, {1}, {""})}, 1, 20, 1)));
  EXPECT_TRUE(without.at("maj_at_1").is_null());
  EXPECT_FALSE(without.contains("maj_at_1_ci95"));
}

TEST(ToTable, OneEvaluationNamesItsData) {
  Evaluation only = evaluate(coins(30, 0.5, 1), 4, 50, 1);
  only.extract = "boxed";
  const std::string table = to_table(only, "30 of the 40 rows of q.jsonl");
  for (const char* part :
       {"pass@1", "pass@4", "maj@4", "all", "questions: 30 of the 40 rows of q.jsonl\n",
        "answers found by: boxed\n"})
    EXPECT_NE(table.find(part), std::string::npos) << table;
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 1 + 3 + 1 + 2);
}

/// A grader that gives no extracted answer makes right responses alone.
TEST(ToTable, WithoutExtractedAnswersThereIsNoMajority) {
  const std::string table = to_table(
      evaluate({outcome(1, {1, 1}, {"", ""}), outcome(2, {0, 0}, {"", ""})}, 2, 50, 1), "");
  EXPECT_EQ(table.substr(0, table.find('\n')).find("maj@2"), std::string::npos) << table;
  EXPECT_NE(table.find("maj@2: not defined"), std::string::npos) << table;
}

TEST(ToTable, AlignsAndTotals) {
  const Evaluation before = evaluate(coins(30, 0.2, 1), 4, 50, 1),
                   after = evaluate(coins(30, 0.8, 2), 4, 50, 1);
  const std::string table = to_table(before, after, {{2, 1234567}, {9, 3}});
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < table.size(); at = table.find('\n', at) + 1)
    lines.push_back(table.substr(at, table.find('\n', at) - at));
  ASSERT_EQ(lines.size(), 6U);  // heading, levels 2, 3, 4, 9, all
  for (const auto& line : lines) EXPECT_EQ(line.size(), lines[0].size());
  EXPECT_NE(lines[1].find("1,234,567"), std::string::npos);
  EXPECT_NE(lines[4].find("- -> -"), std::string::npos);
  EXPECT_NE(lines[5].find("1,234,570"), std::string::npos);
  EXPECT_NE(to_table({}, after, {}).find("- -> 0."), std::string::npos);
  EXPECT_FALSE(to_table({}, {}, {}).empty());
}

}  // namespace
}  // namespace rollcall::report
