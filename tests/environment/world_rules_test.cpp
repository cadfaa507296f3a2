// The rule of each built-in world, worked by hand or played as well as it can be.
#include "environment/played.hpp"
#include "environment/talk.hpp"
#include "task/worlds/forms.hpp"
#include "task/worlds/number_dialogue.hpp"
#include "task/worlds/shop.hpp"
#include "task/worlds/twenty_questions.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

namespace rollcall::environment {
namespace {

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

TEST(Rooms, EachDoorHasAKeyOfItsOwn) {
  const auto environment = made("rooms");
  const Prompt prompt;
  std::string state = ".aA.B.G/b###### 0 0";
  const auto after = [&](const char* word) {
    const Answer answer = environment->step(prompt, state, word, 1, 0);
    state = *answer.state;
    return fmt::format("{} {}", answer.text, answer.reward);
  };
  EXPECT_EQ(after("right"), ".@A.B.G/b######> 0");
  EXPECT_EQ(after("right"), "..@.B.G/b######> 0");
  EXPECT_EQ(after("right"), "..A@B.G/b######> 0");
  EXPECT_EQ(after("right"), "..A@B.G/b######> 0") << "its key is still there";
  for (const char* word : {"left", "left", "left"}) after(word);
  EXPECT_EQ(after("down"), "..A.B.G/@######> 0");
  for (const char* word : {"up", "right", "right", "right", "right", "right"}) after(word);
  EXPECT_EQ(after("right"), " 1");
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

TEST(NumberDialogue, HalvingFindsEachNumberInTime) {
  const auto environment = made("number_dialogue");
  for (const Prompt& p : prompts_of("number_dialogue").train) {
    std::set<std::string> begins;
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
      Answer answer = environment->start(p, "", seed);
      begins.insert(*answer.state);
      const auto bounds = *task::read_number_riddle(*answer.state);
      EXPECT_EQ(bounds.guesses, p.level);
      EXPECT_EQ(bounds.high - bounds.low + 2, std::int64_t{1} << p.level);
      for (std::int64_t low = bounds.low, high = bounds.high; !answer.done;) {
        const std::int64_t guess = (low + high) / 2;
        answer = environment->step(p, *answer.state, std::to_string(guess), 0, 0);
        const bool more = answer.text.find(std::to_string(guess) + "+") != std::string::npos;
        (more ? low : high) = more ? guess + 1 : guess - 1;
      }
      EXPECT_EQ(answer.reward, 1.0) << p.text;
    }
    EXPECT_GT(begins.size(), 1U) << "the seed draws the number";
  }
}

TEST(NumberDialogue, HandWorked) {
  const auto environment = made("number_dialogue");
  const Prompt prompt;
  const std::string begin = R"({"guessed":[],"guesses":2,"high":14,"low":12,"secret":14})";
  const Answer more = environment->step(prompt, begin, "13", 0, 0);
  EXPECT_EQ(more.text, "12-14: 13+ 1>");
  const Answer wrong = environment->step(prompt, *more.state, "13", 0, 1);
  EXPECT_TRUE(wrong.done && wrong.correct == false);
  EXPECT_EQ(wrong.flags, turn_flag::repeated);
  EXPECT_EQ(environment->step(prompt, *more.state, "14", 0, 1).reward, 1.0);
  EXPECT_EQ(environment->step(prompt, begin, "9000", 0, 0).text, "12-14: 9000- 1>");
  for (const char* word : {"", "-1", "13.", "thirteen", "99999"})
    EXPECT_EQ(environment->step(prompt, begin, word, 0, 0).flags, turn_flag::invalid) << word;
}

TEST(Shop, OneThingIsAsItIsWishedFor) {
  const auto environment = made("shop");
  for (const Prompt& p : prompts_of("shop").train) {
    std::set<std::size_t> places;
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      const std::string begin = *environment->start(p, "", seed).state;
      const auto shop = *task::read_shop(begin);
      EXPECT_EQ(std::int32_t(shop.wares.size()), p.level);
      int solved = 0;
      for (std::size_t number = 1; number <= shop.wares.size(); ++number) {
        const Answer open =
            environment->step(p, begin, "click[" + std::to_string(number) + "]", 0, 0);
        EXPECT_EQ(open.kind, 1);
        const Answer bought = environment->step(p, *open.state, "click[buy]", 0, 1);
        EXPECT_TRUE(bought.done);
        EXPECT_EQ(bought.correct, bought.reward == 1.0);
        if (bought.reward == 1.0) ++solved, places.insert(number);
      }
      EXPECT_EQ(solved, 1) << begin;
    }
    const auto shop = *task::read_shop_reference(p.answer);
    const auto of_kind = std::count_if(shop.wares.begin(), shop.wares.end(),
                                       [&](const auto& w) { return w.kind == shop.wish.kind; });
    EXPECT_EQ(places.size() > 1, of_kind > 1) << "the seed draws which one it is: " << p.text;
  }
}

TEST(Shop, HandWorked) {
  const auto environment = made("shop");
  const Prompt prompt;
  const std::string begin =
      R"({"open":0,"wares":[["red","tiny","pot"],["red","huge","mug"],["blue","tiny","cup"]],)"
      R"("wish":["red","huge","mug"]})";
  const Answer pot = environment->step(prompt, begin, "Click[1]", 0, 0);
  EXPECT_EQ(pot.text, "red huge mug: 1 pot red tiny>");
  EXPECT_EQ(environment->step(prompt, *pot.state, "click[buy]", 0, 1).reward, 1.0 / 3);
  EXPECT_EQ(environment->step(prompt, *pot.state, "click[2]", 0, 1).flags, turn_flag::invalid);
  const Answer back = environment->step(prompt, *pot.state, "click[back]", 0, 1);
  EXPECT_EQ(back.text, "red huge mug: 1 pot 2 mug 3 cup>");
  EXPECT_EQ(back.kind, 2);
  EXPECT_EQ(back.state, begin);
  for (const char* action : {"click[buy]", "click[back]", "click[4]", "click[0]", "click[]", "2"})
    EXPECT_EQ(environment->step(prompt, begin, action, 0, 0).flags, turn_flag::invalid) << action;
}

TEST(Forms, WhatIsWishedForPays) {
  const auto environment = made("forms");
  for (const Prompt& p : prompts_of("forms").train) {
    Answer answer = environment->start(p, "", 1);
    const auto form = *task::read_form(*answer.state);
    EXPECT_EQ(std::int32_t(form.fields.size()), p.level);
    for (std::size_t i = 0; i < form.fields.size(); ++i) {
      EXPECT_EQ(environment->step(p, *answer.state, "click[send]", 0, 0).reward,
                double(i) / double(form.fields.size()));
      const std::string fill = "fill[" + form.fields[i] + "=" + form.wanted[i] + "]";
      EXPECT_TRUE(i > 0 || fill == p.solution);
      answer = environment->step(p, *answer.state, fill, 0, 0);
      EXPECT_EQ(answer.kind, 1);
    }
    answer = environment->step(p, *answer.state, "click[send]", 0, 0);
    EXPECT_TRUE(answer.done && answer.correct == true);
    EXPECT_EQ(answer.reward, 1.0);
    EXPECT_EQ(answer.kind, 2);
  }
}

TEST(Forms, HandWorked) {
  const auto environment = made("forms");
  const Prompt prompt;
  const std::string begin =
      R"({"fields":["name","city"],"filled":["",""],"wanted":["ann","oslo"]})";
  const Answer wrong = environment->step(prompt, begin, "Fill[name=bob]", 0, 0);
  EXPECT_EQ(wrong.text, "city=oslo name=ann: name=bob city=>");
  EXPECT_EQ(environment->step(prompt, *wrong.state, "fill[name=bob]", 0, 1).flags,
            turn_flag::repeated);
  EXPECT_EQ(environment->step(prompt, *wrong.state, "fill[name=ann]", 0, 1).text,
            "city=oslo name=ann: name=ann city=>");
  EXPECT_TRUE(environment->step(prompt, begin, "click[send]", 0, 0).correct == false);
  for (const char* action : {"fill[age=7]", "fill[name=]", "fill[name=a b]", "fill[name=a=b]",
                             "fill[name]", "fill[=]", "fill[name=ann", "click[name]"})
    EXPECT_EQ(environment->step(prompt, begin, action, 0, 0).flags, turn_flag::invalid) << action;
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

}  // namespace
}  // namespace rollcall::environment
