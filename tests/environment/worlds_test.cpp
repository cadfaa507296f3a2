// The built-in environments: pure steps, any action, states that can be begun in, and walks that
// win. Their rules: world_rules_test.cpp.
#include "base/errors/error.hpp"
#include "base/numbers/random.hpp"
#include "environment/played.hpp"
#include "environment/talk.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <thread>

namespace rollcall::environment {
namespace {

/// All that an answer says, as a text that can be compared.
std::string shown(const Answer& a) {
  return fmt::format("{}|{}|{}|{}|{}|{}|{}|{}|{}|{}", a.state.value_or("no state"), a.text,
                     a.reward, a.done, a.correct ? *a.correct ? "right" : "wrong" : "open",
                     a.components.size(), a.flags, a.kind, a.reason, int(a.loss));
}

/// A conversation with drawn actions, as texts of its answers.
std::vector<std::string> drawn_walk(const Environment& environment, const Prompt& prompt,
                                    const Seeds& seeds) {
  Answer answer = environment.start(prompt, "", seeds.start);
  std::vector<std::string> said{shown(answer)};
  const auto words = words_of(prompt);
  const RandomStream draws(seeds.turns, RandomPurpose::test);
  for (std::uint32_t turn = 0; turn < 12 && !answer.done; ++turn) {
    answer = environment.step(prompt, *answer.state, words[draws.below(turn, words.size())],
                              step_seed(seeds, turn), turn);
    said.push_back(shown(answer));
  }
  return said;
}

class Row : public ::testing::TestWithParam<std::string> {};

TEST_P(Row, AStepIsAFunctionOfStateActionAndSeed) {
  const auto environment = made(GetParam()), twin = made(GetParam());
  const auto prompts = prompts_of(GetParam()).train;
  const auto play = [&](const Environment& with, std::vector<std::vector<std::string>>& said) {
    for (const Prompt& p : prompts)
      said.push_back(drawn_walk(with, p, {p.id.value, p.id.value + 7}));
  };
  std::vector<std::vector<std::string>> once, again, beside, apart;
  play(*environment, once);
  play(*environment, again);
  std::thread other([&] { play(*environment, beside); });
  play(*twin, apart);
  other.join();
  EXPECT_EQ(once, again);
  EXPECT_EQ(once, beside);
  EXPECT_EQ(once, apart);
  EXPECT_GT(std::set(once.begin(), once.end()).size(), 5U);
}

TEST_P(Row, AnyBytesAreAnAction) {
  const auto environment = made(GetParam());
  const Prompt prompt = prompts_of(GetParam()).train.front();
  const std::string begin = *environment->start(prompt, "", 1).state;
  std::vector<std::string> actions{"",
                                   " \n",
                                   std::string(3, '\0'),
                                   "\xFF\xFE\xC0",
                                   "<think>",
                                   "<think></think>",
                                   std::string(100000, '['),
                                   "\"",
                                   "up up"};
  const RandomStream draws(5, RandomPurpose::test);
  for (std::uint64_t i = 0; i < 500; ++i) {
    std::string bytes;
    for (std::uint64_t n = draws.below(40 * i, 30); bytes.size() < n;)
      bytes += char(draws.below(40 * i + 1 + bytes.size(), 256));
    actions.push_back(bytes);
  }
  for (const std::string& action : actions) {
    Answer answer;
    ASSERT_NO_THROW(answer = environment->step(prompt, begin, action, 9, 0));
    EXPECT_EQ(answer.loss, Loss::none);
    ASSERT_TRUE(answer.state.has_value());
    if (answer.done) continue;
    // What the state keeps of an action can be read again.
    EXPECT_EQ(environment->step(prompt, *answer.state, "x", 9, 1).loss, Loss::none);
  }
}

TEST_P(Row, DamagedStatesAndOtherPromptsLoseTheConversation) {
  const auto environment = made(GetParam());
  const Prompt prompt = prompts_of(GetParam()).train.front();
  const std::string begin = *environment->start(prompt, "", 1).state;
  for (std::size_t at = 0; at < begin.size(); ++at)
    for (const char c : {'\0', '"', '9', '/', ' ', '\xFF'}) {
      std::string state = begin;
      state[at] = c;
      Answer answer;
      ASSERT_NO_THROW(answer = environment->step(prompt, state, "up", 9, 0)) << state;
      EXPECT_TRUE(answer.loss == Loss::none || answer.loss == Loss::malformed);
      EXPECT_EQ(answer.reason.empty(), answer.loss == Loss::none);
    }
  for (const char* state : {"-", "{}", "{\"a\":1}", "[1]", "../. 0 0", ".. 0 2", ".. 0 00", ".."})
    EXPECT_EQ(environment->start(prompt, state, 1).loss, Loss::malformed) << state;
  if (find_environment(GetParam()).task == nullptr) return;
  Prompt other = prompt;
  other.answer = "42";
  EXPECT_EQ(environment->start(other, "", 1).loss, Loss::malformed);
}

TEST_P(Row, AConversationCanBeginInAnyOfItsStates) {
  const auto environment = made(GetParam());
  for (const Prompt& p : prompts_of(GetParam()).train) {
    const auto words = words_of(p);
    std::string state = *environment->start(p, "", 4).state;
    for (std::uint32_t turn = 0; turn < 6; ++turn) {
      const Answer from = environment->start(p, state, 99);
      EXPECT_EQ(from.state, state) << "the seed of the start changes nothing then";
      EXPECT_EQ(from.loss, Loss::none);
      const Answer next = environment->step(p, state, words[turn % words.size()], turn, turn);
      if (next.done) break;
      if (find_environment(GetParam()).task != nullptr) {
        const Answer shows = environment->start(p, *next.state, 99);
        EXPECT_EQ(shows.text, next.text) << "a plain prompt is what the policy would see there";
      }
      state = *next.state;
    }
  }
}

TEST_P(Row, OnlyItsOwnPromptsArePlayed) {
  const EnvironmentRow& row = find_environment(GetParam());
  if (row.task == nullptr) return;
  EXPECT_STREQ(task::find_task(row.task).environment, row.name);
  RunConfig config = config_of(GetParam());
  config.task.name = "sorting";
  EXPECT_THROW(row.make(config), ConfigError);
}

TEST_P(Row, NoPromptIsInTwoSplits) {
  std::map<std::string, Split> home;
  for (const std::uint64_t seed : {1, 2}) {
    const auto set = prompts_of(GetParam(), seed);
    EXPECT_EQ(set.heldout.size(), 10U);
    for (const Split split : {Split::train, Split::validation, Split::heldout})
      for (const Prompt& p : set.of(split))
        EXPECT_EQ(home.try_emplace(p.text, split).first->second, split) << p.text;
  }
}

TEST_P(Row, RulesComeBeforeThePlainTextAndStayWhenAConversationBeginsLater) {
  if (find_environment(GetParam()).task == nullptr) return;
  RunConfig config = config_of(GetParam());
  config.task.wording = {"question"};
  const auto plain = prompts_of(GetParam()).train,
             worded = task::find_task(config.task.name).make(config.task, 3).train;
  const auto environment = made(GetParam());
  for (std::size_t i = 0; i < 10; ++i) {
    ASSERT_TRUE(worded[i].text.ends_with("\n" + plain[i].text)) << worded[i].text;
    const std::string rules =
        worded[i].text.substr(0, worded[i].text.size() - plain[i].text.size());
    const std::string state = *environment->start(worded[i], "", 4).state;
    EXPECT_EQ(environment->start(worded[i], state, 4).text, rules + plain[i].text);
  }
}

INSTANTIATE_TEST_SUITE_P(Environments, Row, ::testing::ValuesIn(environment_names()),
                         [](const auto& i) { return i.param; });

/// The fewest actions to a reward of 1 for who knows all seeds; nothing within 256. A state that is
/// reached again later is of no use in these worlds.
std::optional<int> fewest(const Environment& environment, const Prompt& prompt,
                          const std::string& begin, std::uint64_t turns, std::uint32_t first = 0) {
  std::set<std::string> known{begin}, states = known;
  for (std::uint32_t turn = first; turn < first + 256; ++turn) {
    std::set<std::string> next;
    for (const std::string& state : states)
      for (const std::string_view word : task::kDirections) {
        const Answer answer =
            environment.step(prompt, state, word, step_seed({0, turns}, turn), turn);
        if (answer.reward == 1.0) {
          EXPECT_TRUE(answer.done && answer.correct == true);
          return int(turn - first) + 1;
        }
        if (!answer.done && known.insert(*answer.state).second) next.insert(*answer.state);
      }
    states = std::move(next);
  }
  return std::nullopt;
}

class Map : public ::testing::TestWithParam<std::string> {};

TEST_P(Map, EveryOneCanBeWonAndSolutionsAreFirstSteps) {
  const auto environment = made(GetParam());
  std::map<std::int32_t, std::pair<double, int>> lengths;
  for (const Prompt& p : prompts_of(GetParam()).train) {
    const std::string begin = *environment->start(p, "", 1).state;
    const auto length = fewest(*environment, p, begin, 11);
    ASSERT_TRUE(length.has_value()) << p.text;
    lengths[p.level].first += *length, ++lengths[p.level].second;
    // In rooms the first key on a shortest way need not be that of the first door.
    if (*length == 1 || p.domain == "slippery" || GetParam() == "rooms") continue;
    const Answer next = environment->step(p, begin, p.solution, step_seed({0, 11}, 0), 0);
    EXPECT_EQ(fewest(*environment, p, *next.state, 11, 1), *length - 1) << p.text << p.solution;
  }
  ASSERT_GE(lengths.size(), 4U);
  const auto mean = [](const auto& row) { return row.second.first / row.second.second; };
  EXPECT_GT(mean(*lengths.rbegin()), mean(*lengths.begin()) + 1) << "levels grow";
}

INSTANTIATE_TEST_SUITE_P(Environments, Map, ::testing::Values("key_door", "rooms", "frozen_lake"),
                         [](const auto& i) { return i.param; });

TEST(Retry, RefusesWhatCannotBeJudgedAtOnce) {
  const auto refused = [](auto set) {
    RunConfig config = config_of("retry");
    set(config);
    EXPECT_THROW(find_environment("retry").make(config), ConfigError);
  };
  refused([](RunConfig& c) { c.task.name = "key_door"; });
  refused([](RunConfig& c) { c.task.name = "code"; });
  refused([](RunConfig& c) { c.reward.command = {"./grade"}; });
}

TEST(Environments, UnknownNameNamesTheNearest) {
  for (const auto& [name, nearest] :
       std::map<std::string, std::string>{{"key_dor", "key_door"}, {"tool", "tools"}}) {
    try {
      find_environment(name);
      FAIL() << "accepted";
    } catch (const ConfigError& e) {
      EXPECT_NE(std::string(e.what()).find("did you mean " + nearest + "?"), std::string::npos)
          << e.what();
    }
  }
}

}  // namespace
}  // namespace rollcall::environment
