// The built-in environments: pure steps, any action, states that can be begun in, walks that win,
// and each world's rule worked by hand.
#include "base/errors/error.hpp"
#include "base/numbers/random.hpp"
#include "environment/environments.hpp"
#include "environment/talk.hpp"
#include "task/task.hpp"
#include "task/worlds/grid.hpp"
#include "task/worlds/twenty_questions.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <thread>

namespace rollcall::environment {
namespace {

RunConfig config_of(const std::string& name) {
  RunConfig config;
  const char* task = find_environment(name).task;
  config.task.name = task != nullptr ? task : "arithmetic";
  config.task.min_level = 1, config.task.max_level = 6, config.task.tail_exponent = 0;
  config.task.train_prompts = 60, config.task.validation_prompts = 10;
  config.task.heldout_prompts = 10;
  return config;
}

task::PromptSet prompts_of(const std::string& name, std::uint64_t seed = 3) {
  const RunConfig config = config_of(name);
  return task::find_task(config.task.name).make(config.task, seed);
}

std::unique_ptr<const Environment> made(const std::string& name) {
  return find_environment(name).make(config_of(name));
}

/// All that an answer says, as a text that can be compared.
std::string shown(const Answer& a) {
  return fmt::format("{}|{}|{}|{}|{}|{}|{}|{}|{}|{}", a.state.value_or("no state"), a.text,
                     a.reward, a.done, a.correct ? *a.correct ? "right" : "wrong" : "open",
                     a.components.size(), a.flags, a.kind, a.reason, int(a.loss));
}

/// Words that mean something in some world.
std::vector<std::string> words_of(const Prompt& prompt) {
  std::vector<std::string> words(task::kDirections.begin(), task::kDirections.end());
  words.insert(words.end(), {"s", "r", "c", "nowhere", "7", prompt.solution});
  std::string word;
  for (const char c : prompt.text)
    if (c >= 'a' && c <= 'z') word += c;
    else if (!word.empty()) words.push_back(std::exchange(word, {}));
  return words;
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
    for (const Prompt& p : prompts) said.push_back(drawn_walk(with, p, {p.id.value, 7}));
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
  std::set<std::string> different;
  for (const auto& walk : once) different.insert(walk.back());
  EXPECT_GT(different.size(), 5U);
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
    if (!answer.done)  // what the state keeps of an action can be read again
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

/// The fewest actions to a reward of 1 for who knows all seeds; nothing within 64.
std::optional<int> fewest(const Environment& environment, const Prompt& prompt, std::string begin,
                          std::uint64_t turns, std::uint32_t first = 0) {
  std::set<std::string> states{std::move(begin)};
  for (std::uint32_t turn = first; turn < first + 64; ++turn) {
    std::set<std::string> next;
    for (const std::string& state : states)
      for (const std::string_view word : task::kDirections) {
        const Answer answer =
            environment.step(prompt, state, word, step_seed({0, turns}, turn), turn);
        if (answer.reward == 1.0) {
          EXPECT_TRUE(answer.done && answer.correct == true);
          return int(turn - first) + 1;
        }
        if (!answer.done) next.insert(*answer.state);
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
    if (*length == 1 || p.domain == "slippery") continue;
    const Answer next = environment->step(p, begin, p.solution, step_seed({0, 11}, 0), 0);
    EXPECT_EQ(fewest(*environment, p, *next.state, 11, 1), *length - 1) << p.text << p.solution;
  }
  ASSERT_GE(lengths.size(), 4U);
  const auto mean = [](const auto& row) { return row.second.first / row.second.second; };
  EXPECT_GT(mean(*lengths.rbegin()), mean(*lengths.begin()) + 1) << "levels grow";
}

INSTANTIATE_TEST_SUITE_P(Environments, Map, ::testing::Values("key_door", "frozen_lake"),
                         [](const auto& i) { return i.param; });

TEST(KeyDoor, HandWorked) {
  const auto environment = made("key_door");
  Prompt prompt;
  prompt.text = ".k#../@.D../..#.G>", prompt.answer = ".k#../..D../..#.G 1 0";
  std::string state = *environment->start(prompt, "", 1).state;
  const auto after = [&](const char* word) {
    const Answer answer = environment->step(prompt, state, word, 1, 0);
    state = *answer.state;
    return fmt::format("{} {} {}", answer.text, answer.reward, answer.flags);
  };
  EXPECT_EQ(after("left"), ".k#../@.D../..#.G> 0 0");
  EXPECT_EQ(after("right"), ".k#../.@D../..#.G> 0 0");
  EXPECT_EQ(after("right"), ".k#../.@D../..#.G> 0 0") << "the door is shut";
  EXPECT_EQ(after("go up"), ".k#../.@D../..#.G> 0 1");
  EXPECT_EQ(after("<think>The key!</think>\nUP"), ".@#../..D../..#.G> 0 0");
  EXPECT_EQ(after("right"), ".@#../..D../..#.G> 0 0") << "a wall";
  EXPECT_EQ(after("down"), "..#../.@D../..#.G> 0 0");
  EXPECT_EQ(after("right"), "..#../..@../..#.G> 0 0");
  EXPECT_EQ(after("right"), "..#../..D@./..#.G> 0 0");
  EXPECT_EQ(after("down"), "..#../..D../..#@G> 0 0");
  EXPECT_EQ(after("right"), " 1 0");
}

TEST(FrozenLake, HolesEndAndSlipperyIceTurnsAside) {
  const auto environment = made("frozen_lake");
  const Prompt prompt;
  const Answer hole = environment->step(prompt, "..O/..G 0 1", "right", 1, 0);
  EXPECT_TRUE(hole.done && hole.correct == false);
  EXPECT_EQ(hole.reward, 0.0);
  std::map<std::string, int> reached;
  for (std::uint64_t seed = 0; seed < 3000; ++seed)
    ++reached[environment->step(prompt, "~~~/~~~/~~~ 1 1", "right", seed, 0).text];
  ASSERT_EQ(reached.size(), 3U);
  // five standard deviations: 5 sqrt(3000 * 2 / 9)
  for (const char* text : {"~@~/~~~/~~~>", "~~~/~~@/~~~>", "~~~/~~~/~@~>"})
    EXPECT_NEAR(reached[text], 1000, 129) << text;
}

TEST(Bandit, TheBestArmWinsAndIsDrawnAtTheStart) {
  const auto environment = made("bandit");
  std::map<std::int32_t, std::size_t> longest;
  for (const Prompt& p : prompts_of("bandit").train) {
    std::set<std::string> begins;
    for (std::uint64_t seed = 0; seed < 50; ++seed)
      begins.insert(*environment->start(p, "", seed).state);
    EXPECT_EQ(begins.size(), std::size_t(p.level)) << "each arm is the best one sometimes";
    const std::string begin = *environment->start(p, "", 1).state;
    const auto names = words_of(p);
    const auto play = [&](const std::string& arm) {
      Answer answer{.state = begin};
      std::size_t turns = 0;
      for (; !answer.done; ++turns)
        answer = environment->step(p, *answer.state, arm, turns, std::uint32_t(turns));
      longest[p.level] = turns;
      return answer.correct == true;
    };
    int solved = 0;
    for (std::size_t i = 10; i < names.size(); ++i) solved += play(names[i]) ? 1 : 0;
    EXPECT_EQ(solved, 1) << "one machine is the best: " << p.text;
  }
  for (const auto& [level, turns] : longest) EXPECT_EQ(turns, 4 * std::size_t(level));
}

TEST(Bandit, PaysByTheSeed) {
  const auto environment = made("bandit");
  const Prompt prompt;
  const std::string state =
      R"({"arms":["ba","ko"],"best":1,"paid":[0,0],"pulled":[0,0],"pulls":8})";
  const auto paid = [&](const char* arm) {
    double sum = 0;
    for (std::uint64_t seed = 0; seed < 2000; ++seed)
      sum += environment->step(prompt, state, arm, seed, 0).reward;
    return sum * 8 / 2000;
  };
  // five standard deviations: 5 sqrt(0.75 * 0.25 / 2000)
  EXPECT_NEAR(paid("ko"), 0.75, 0.049);
  EXPECT_NEAR(paid("ba"), 0.25, 0.049);
  EXPECT_TRUE(environment->step(prompt, state, "ba", 1, 0).text.starts_with("ba "));
  EXPECT_EQ(environment->step(prompt, state, "xy", 1, 0).flags, turn_flag::invalid);
}

TEST(TwentyQuestions, PartingTheThingsFindsEachInTime) {
  const auto environment = made("twenty_questions");
  std::map<std::int32_t, std::pair<double, int>> needed;
  for (const Prompt& p : prompts_of("twenty_questions").train)
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
      Answer answer = environment->start(p, "", seed);
      auto things = task::read_riddle(*answer.state)->things;
      for (int turn = 1; !answer.done; ++turn) {
        const std::string asked = task::best_question(things);
        EXPECT_TRUE(turn > 1 || asked == p.solution);
        answer = environment->step(p, *answer.state, asked, 0, 0);
        const bool yes = answer.text.find(asked + "+") != std::string::npos;
        std::erase_if(things, [&](const std::string& thing) {
          return task::is_true_of(thing, asked) != yes;
        });
        if (answer.done) needed[p.level].first += turn, ++needed[p.level].second;
      }
      EXPECT_EQ(answer.reward, 1.0) << p.text;
      EXPECT_TRUE(answer.correct == true);
    }
  EXPECT_GT(needed[6].first / needed[6].second, needed[2].first / needed[2].second + 0.5);
}

TEST(TwentyQuestions, HandWorked) {
  const auto environment = made("twenty_questions");
  const Prompt prompt;
  const std::string begin =
      R"({"asked":[],"questions":3,"secret":"hgo","things":["src","hgo","hbo"]})";
  const Answer asked = environment->step(prompt, begin, "S", 0, 0);
  EXPECT_EQ(asked.text, "src hgo hbo: s- 2>");
  EXPECT_EQ(asked.kind, 1);
  const Answer again = environment->step(prompt, *asked.state, "s", 0, 1);
  EXPECT_EQ(again.flags, turn_flag::repeated);
  EXPECT_EQ(again.text, "src hgo hbo: s- s- 1>");
  const Answer wrong = environment->step(prompt, *again.state, "hbo", 0, 2);
  EXPECT_TRUE(wrong.done && wrong.correct == false);
  EXPECT_EQ(wrong.kind, 2);
  EXPECT_EQ(environment->step(prompt, *again.state, "hgo", 0, 2).reward, 1.0);
  EXPECT_EQ(environment->step(prompt, begin, "hg", 0, 0).flags, turn_flag::invalid);
}

TEST(Retry, EndsWithTheRightAnswerAndPaysNothing) {
  const auto environment = made("retry");
  EXPECT_FALSE(environment->traits().rewards || environment->traits().decides);
  for (const Prompt& p : prompts_of("retry").train) {
    const Answer wrong = environment->step(p, "[]", p.solution + "1", 0, 0);
    EXPECT_FALSE(wrong.done);
    EXPECT_EQ(wrong.text, "Incorrect. Please think again.");
    EXPECT_EQ(wrong.flags, 0);
    const Answer again = environment->step(p, *wrong.state, p.solution + "1", 0, 1);
    EXPECT_EQ(again.flags, turn_flag::repeated);
    const Answer right = environment->step(p, *again.state, p.solution, 0, 2);
    EXPECT_TRUE(right.done && !right.correct.has_value());
    EXPECT_EQ(right.reward, 0.0);
    EXPECT_EQ(right.text, "");
  }
}

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
