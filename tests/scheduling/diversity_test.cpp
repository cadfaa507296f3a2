// How much answers differ, in numbers worked by hand, and what holds of any group.
#include "scheduling/diversity.hpp"

#include "core/plan.hpp"
#include "scheduling/composed.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <map>
#include <set>

namespace rollcall::scheduling {
namespace {

using Answers = std::vector<std::vector<std::int32_t>>;

TEST(Diversity, ByHand) {
  // The second answer has 3 of 4 tokens, 2 of 3 pairs and 1 of 2 triples from others: (1/4)^(1/3) =
  // 0.62996; the others find themselves.
  const Answers answers{{1, 2, 3, 4}, {1, 2, 3, 5}, {1, 2, 3, 4}};
  EXPECT_NEAR(diversity("self_bleu", answers), 1.0 - (1.0 + std::cbrt(0.25) + 1.0) / 3.0, 1e-12);
  EXPECT_DOUBLE_EQ(diversity("distinct_3", answers), 0.5);  // 123 234 123 235 123 234
  // A short answer pays for its brevity, exp(1 - 6/3); the long one has 1/2, 2/5 and 1/4 from it.
  EXPECT_NEAR(diversity("self_bleu", Answers{{1, 2, 3}, {1, 2, 3, 4, 5, 6}}),
              1.0 - (std::exp(-1.0) + std::cbrt(0.05)) / 2.0, 1e-12);
  // A token in common and no pair: 2/3, then 0.1/2 and 0.1/1.
  EXPECT_NEAR(diversity("self_bleu", Answers{{1, 2, 3}, {3, 9, 1}}),
              1.0 - std::cbrt(2.0 / 3.0 * 0.05 * 0.1), 1e-12);
}

/// An n-gram that an answer repeats counts as often as another answer has it.
TEST(Diversity, ClipsRepetitions) {
  EXPECT_NEAR(diversity("self_bleu", Answers{{5, 5, 5}, {5, 6, 7}}),
              1.0 - (std::cbrt(1.0 / 3.0 * 0.05 * 0.1) + std::cbrt(1.0 / 3.0 * 0.05 * 0.1)) / 2.0,
              1e-12);
}

TEST(Diversity, OfShortAnswersAndOfFew) {
  EXPECT_DOUBLE_EQ(diversity("self_bleu", Answers{{1, 2}, {1, 2}}), 0.0);
  EXPECT_DOUBLE_EQ(diversity("self_bleu", Answers{{1}, {2}}), 1.0);
  EXPECT_DOUBLE_EQ(diversity("self_bleu", Answers{{}, {}}), 0.0);
  EXPECT_DOUBLE_EQ(diversity("self_bleu", Answers{{}, {1}}), 1.0);
  EXPECT_DOUBLE_EQ(diversity("distinct_3", Answers{{1, 2}, {3}}), 0.0);
  for (const auto& measure : diversity_measures()) {
    EXPECT_TRUE(std::isnan(diversity(measure, Answers{{1, 2, 3}}))) << measure;
    EXPECT_TRUE(std::isnan(diversity(measure, Answers{}))) << measure;
  }
}

/// The sorted n-grams against a plain count of each answer's own.
TEST(Diversity, IsWhatAPlainCountSays) {
  const auto plain = [](const Answers& answers) {
    double sum = 0.0;
    for (std::size_t i = 0; i < answers.size(); ++i) {
      const auto counts = [](const std::vector<std::int32_t>& answer, std::size_t n) {
        std::map<std::vector<std::int32_t>, int> all;
        for (std::size_t at = 0; at + n <= answer.size(); ++at)
          ++all[{answer.begin() + std::ptrdiff_t(at), answer.begin() + std::ptrdiff_t(at + n)}];
        return all;
      };
      double product = 1.0;
      const std::size_t orders = std::min<std::size_t>(3, answers[i].size());
      for (std::size_t n = 1; n <= orders; ++n) {
        double same = 0.0, all = 0.0;
        for (const auto& [gram, count] : counts(answers[i], n)) {
          int most = 0;
          for (std::size_t j = 0; j < answers.size(); ++j)
            if (j != i) most = std::max(most, counts(answers[j], n)[gram]);
          same += std::min(count, most), all += count;
        }
        product *= std::pow((n == 1 || same > 0 ? same : 0.1) / all, 1.0 / double(orders));
      }
      std::size_t nearest = answers[i == 0 ? 1 : 0].size();
      for (std::size_t j = 0; j < answers.size(); ++j) {
        const auto far = [&](std::size_t length) {
          return std::abs(double(length) - double(answers[i].size()));
        };
        if (j != i && (far(answers[j].size()) < far(nearest) ||
                       (far(answers[j].size()) == far(nearest) && answers[j].size() < nearest)))
          nearest = answers[j].size();
      }
      sum += product * std::min(1.0, std::exp(1.0 - double(nearest) / double(answers[i].size())));
    }
    return 1.0 - sum / double(answers.size());
  };
  const bool ok = rc::check([&] {
    const auto count = *rc::gen::inRange(2, 6);
    Answers answers;
    for (int i = 0; i < count; ++i)
      answers.push_back(*rc::gen::nonEmpty(rc::gen::resize(
          8, rc::gen::container<std::vector<std::int32_t>>(rc::gen::inRange<std::int32_t>(0, 3)))));
    RC_ASSERT(std::abs(diversity("self_bleu", answers) - std::max(0.0, plain(answers))) < 1e-9);
    std::rotate(answers.begin(), answers.begin() + 1, answers.end());
    // the order of answers does not matter
    RC_ASSERT(std::abs(diversity("self_bleu", answers) - std::max(0.0, plain(answers))) < 1e-9);
    const Answers same(std::size_t(count), answers.front());
    RC_ASSERT(diversity("self_bleu", same) < 1e-12);
  });
  EXPECT_TRUE(ok);
}

TEST(Diversity, OfAGroupInRoundsIsTheirMeanByRollouts) {
  const auto report = [](std::size_t rollouts, double diversity) {
    GroupReport r{.id = {0, {1}, 0}};
    r.rewards.assign(rollouts, 0.0);
    r.diversity = diversity;
    return r;
  };
  std::vector<GroupReport> all{report(2, 0.5)};
  merge_reports(all, {report(6, 0.9)});
  EXPECT_DOUBLE_EQ(all.front().diversity, 0.8);
  merge_reports(all, {report(1, std::nan(""))});
  EXPECT_DOUBLE_EQ(all.front().diversity, 0.8);
  std::vector<GroupReport> unmeasured{report(1, std::nan(""))};
  merge_reports(unmeasured, {report(2, 0.25)});
  EXPECT_DOUBLE_EQ(unmeasured.front().diversity, 0.25);
}

}  // namespace
}  // namespace rollcall::scheduling
