// Lines in, decisions out: what is selected, what orders may not matter, what a bad line is told.
#include "scheduling/trace/trace.hpp"

#include "base/errors/error.hpp"
#include "base/text/json.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <tuple>

namespace rollcall::scheduling {
namespace {

using nlohmann::json;

Trace trace(const std::string& row, std::optional<std::uint64_t> prompts = std::nullopt,
            const Knobs& knobs = {}) {
  return {{.row = row}, knobs, 1, prompts};
}

std::string refusal(Trace& t, const std::string& line, std::size_t number) {
  try {
    t.step(line, number);
  } catch (const InputError& e) {
    return e.what();
  }
  return "accepted";
}

TEST(Trace, ExactlyEnoughCandidatesAreTheSelection) {
  auto t = trace("uniform");
  const json out = json::parse(t.step(R"({"prompts": [7, 3, 5], "select": 3, "budget": 12})", 1));
  EXPECT_EQ(out.at("selected"), json({3, 5, 7}));
  EXPECT_EQ(out.at("counts"), json({4, 4, 4}));
  EXPECT_EQ(out.at("bins"), json({-1, -1, -1}));
  EXPECT_EQ(out.at("weights"), json({1.0, 1.0, 1.0}));
  EXPECT_EQ(out.at("state_sha256").get<std::string>().size(), 64U);
}

TEST(Trace, ResultsFollowTheDecisionAndChangeTheNext) {
  auto learned = trace("uniform_sqrt"), told_nothing = trace("uniform_sqrt");
  const std::string first = R"({"prompts": ["easy", "half"], "select": 2, "budget": 16)";
  const json a = json::parse(learned.step(
      first +
          R"(, "report": [{"prompt": "easy", "rewards": [1,1,1,1,1,1,1,1]}, {"prompt": "half", "rewards": [1,0,1,0,1,0,1,0]}]})",
      1));
  const json b = json::parse(told_nothing.step(first + "}", 1));
  EXPECT_EQ(a.at("counts"), b.at("counts"));  // the report is not known yet
  EXPECT_NE(a.at("state_sha256"), b.at("state_sha256"));
  const json next = json::parse(learned.step(first + "}", 2));
  EXPECT_EQ(next.at("selected"), json({"easy", "half"}));
  EXPECT_LT(next.at("counts")[0], next.at("counts")[1]);  // a prompt that always succeeds teaches
                                                          // nothing
  EXPECT_EQ(next.at("counts")[0].get<int>() + next.at("counts")[1].get<int>(), 16);
}

TEST(Trace, OrderWithinALineChangesNothing) {
  auto one = trace("uniform_sqrt"), other = trace("uniform_sqrt");
  const std::string a =
      R"({"prompts": [9, 2, 4, 11], "levels": [1, 2, 3, 4], "select": 2, "budget": 8, "report": [{"prompt": 2, "rewards": [1, 0]}, {"prompt": 11, "rewards": [0]}]})";
  const std::string b =
      R"({"prompts": [11, 4, 2, 9], "levels": [4, 3, 2, 1], "select": 2, "budget": 8, "report": [{"prompt": 11, "rewards": [0]}, {"prompt": 2, "rewards": [1, 0]}]})";
  EXPECT_EQ(one.step(a, 1), other.step(b, 1));
  EXPECT_EQ(one.step(b, 2), other.step(a, 2));
}

TEST(Trace, CandidatesRestrictTheChoiceOverADenseTable) {
  auto t = trace("uniform", 1000);
  for (std::size_t step = 1; step <= 20; ++step) {
    const json out =
        json::parse(t.step(R"({"prompts": [10, 20, 999], "select": 2, "budget": 4})", step));
    for (const auto& id : out.at("selected")) EXPECT_TRUE(id == 10 || id == 20 || id == 999) << id;
  }
}

TEST(Trace, BadLinesAreToldByNumber) {
  auto t = trace("uniform");
  t.step(R"({"prompts": [1, 2, 3], "levels": [1, 1, 2], "select": 1, "budget": 4})", 1);
  const std::vector<std::pair<const char*, const char*>> wrong = {
      {"nonsense", "not a JSON object"},
      {"[1]", "not a JSON object"},
      {R"({"prompts": [1, 2], "select": 1})", "\"budget\" is missing"},
      {R"({"prompts": [1, 2], "select": 1, "budget": 4, "bugdet": 4})", "did you mean budget"},
      {R"({"prompts": [], "select": 1, "budget": 4})", "not a list of ids"},
      {R"({"prompts": [1, -2], "select": 1, "budget": 4})", "not a list of ids"},
      {R"({"prompts": [1, 1], "select": 1, "budget": 4})", "names a prompt twice"},
      {R"({"prompts": [1, 8], "select": 1, "budget": 4})",
       "prompt 8 is not among the first line's candidates"},
      {R"({"prompts": [1, 2], "select": 3, "budget": 4})", "3 prompts to select from 2 candidates"},
      {R"({"prompts": [1, 2], "select": 0, "budget": 4})", "\"select\" is 0"},
      {R"({"prompts": [1, 2], "select": 1, "budget": 1.5})", "\"budget\" is 1.5"},
      {R"({"prompts": [1, 2], "select": 2, "budget": 4, "max_rollouts": 1})", "budget"},
      {R"({"prompts": [1, 2], "select": 1, "budget": 4, "levels": [1, 2]})",
       "differ from the first line"},
      {R"({"prompts": [1, 2], "select": 1, "budget": 4, "step": 1})", "step 1 after step 1"},
      {R"({"prompts": [1, 2], "select": 1, "budget": 4, "report": [{"prompt": 1}]})",
       "\"rewards\" is missing"},
      {R"({"prompts": [1, 2], "select": 1, "budget": 4, "report": [{"prompt": 1, "rewards": [1, "x"]}]})",
       "write a number"},
      {R"({"prompts": [1, 2], "select": 1, "budget": 4, "report": [{"prompt": 1, "rewards": [1], "correct": [1, 0]}]})",
       "has 2 entries, not 1"},
      {R"({"prompts": [1, 2], "select": 1, "budget": 4, "returned": {}})",
       "\"returned\" is not a list"},
      {R"({"returned": [7]})", "an entry of \"returned\" is not an object"},
      {R"({"returned": [{"prompt": 1, "rewards": [1], "reward": 1}]})",
       "an entry of \"returned\" has no key \"reward\""},
      {R"({"returned": [], "report": []})", "\"prompts\" is missing"},
  };
  for (const auto& [line, expected] : wrong) {
    const std::string told = refusal(t, line, 2);
    EXPECT_TRUE(told.starts_with("line 2: ")) << line << "\n" << told;
    EXPECT_NE(told.find(expected), std::string::npos) << line << "\n" << told;
  }
  EXPECT_THROW(trace("unifrm"), ConfigError);
  EXPECT_THROW(trace("uniform_sqrt", std::nullopt, {{"nope", "1"}}), ConfigError);
}

TEST(Trace, WhatReturnsIsWhatWasDecided) {
  auto t = trace("uniform");
  EXPECT_NE(refusal(t, R"({"returned": []})", 1).find("no step waits for results"),
            std::string::npos);
  const json first = json::parse(t.step(R"({"prompts": [1, 2, 3], "select": 1, "budget": 2})", 2));
  const int selected = first.at("selected")[0], other = selected == 1 ? 2 : 1;
  const auto returned = [](int prompt, const char* rewards) {
    return R"({"prompt": )" + std::to_string(prompt) + R"(, "rewards": )" + rewards + "}";
  };
  EXPECT_NE(refusal(t, R"({"returned": [)" + returned(other, "[1]") + "]}", 3)
                .find("more often than it was selected"),
            std::string::npos);
  EXPECT_NE(refusal(t,
                    R"({"returned": [)" + returned(selected, "[1]") + "," +
                        returned(selected, "[1]") + "]}",
                    3)
                .find("more often than it was selected"),
            std::string::npos);
  EXPECT_NE(refusal(t, R"({"returned": [)" + returned(selected, "[1, 0, 1]") + "]}", 3)
                .find("3 rewards of prompt"),
            std::string::npos);
  EXPECT_EQ(refusal(t, R"({"returned": [)" + returned(selected, "[1]") + "]}", 3),
            "accepted");  // fewer may come back
  EXPECT_NE(refusal(t, R"({"returned": []})", 4).find("no step waits for results"),
            std::string::npos);
  t.step(R"({"prompts": [1, 2, 3], "select": 1, "budget": 2, "report": []})", 4);
  EXPECT_NE(refusal(t, R"({"returned": []})", 5).find("no step waits for results"),
            std::string::npos);
}

constexpr int kSteps = 12;
const json kStep = {{"prompts", {2, 3, 5, 7, 11, 13, 17, 19, 23, 29}},
                    {"levels", {1, 1, 1, 2, 2, 2, 3, 3, 3, 3}},
                    {"priors", {0.1, 0.2, 0.3, 0.4, 0.5, 0.5, 0.6, 0.7, 0.8, 0.9}},
                    {"domains", {"a", "b", "a", "b", "a", "b", "a", "b", "a", "b"}},
                    {"select", 4},
                    {"budget", 24},
                    {"min_rollouts", 2},
                    {"max_rollouts", 24}};

/// Right or not by prompt, step and number of the rollout; neither too often equal nor too seldom.
json entry(const json& prompt, int step, int first, int count) {
  json rewards = json::array();
  for (int j = first; j < first + count; ++j)
    rewards.push_back(
        (prompt.get<int>() * 31 + step * 17 + j * j * 7) % 29 < prompt.get<int>() ? 1 : 0);
  return {{"prompt", prompt},
          {"rewards", rewards},
          {"mean_abs_advantage", 0.25},
          {"predicted", std::vector<double>(std::size_t(count), 0.5)},
          {"diversity", 0.5}};
}

/// A run: what each step drew in all its rounds, and the state after it.
struct Driven {
  std::vector<json> drawn{};
  std::vector<std::string> state{};
  int rounds = 0;
};

/// A prompt's name in a round that draws it again, as wgrpo does: "7", then "7 again". With help it
/// has another: "7 tier 2".
std::string name_of(const json& answer, std::size_t group, std::set<std::string>& named) {
  std::string name = answer.at("selected")[group].dump();
  if (answer.contains("tiers") && answer["tiers"][group] != 0)
    name += " tier " + answer["tiers"][group].dump();
  while (!named.insert(name).second) name += " again";
  return name;
}

/// Results of an answer's rollouts; `drawn` counts them on.
json results_of(const json& answer, int step, json& drawn) {
  json results = json::array();
  std::set<std::string> named;
  for (std::size_t i = 0; i < answer.at("selected").size(); ++i) {
    const json& prompt = answer.at("selected")[i];
    const std::string name = name_of(answer, i, named);
    const int before = drawn.value(name, 0), count = answer.at("counts")[i];
    results.push_back(entry(prompt, step, before, count));
    drawn[name] = before + count;
  }
  return results;
}

/// A trainer. What a step drew last returns on a line of its own, or with the next step.
Driven driven(Trace t, bool own_line) {
  Driven run;
  json answer, waiting;
  std::size_t line = 0;
  const auto tell = [&](const json& text) { answer = json::parse(t.step(text.dump(), ++line)); };
  for (int step = 1; step <= kSteps; ++step) {
    json text = kStep, drawn = json::object();
    if (!waiting.is_null()) text["returned"] = waiting;
    tell(text);
    EXPECT_EQ(answer.contains("train"), !waiting.is_null());
    if (!waiting.is_null()) run.state.push_back(answer.at("state_sha256"));
    for (waiting = nullptr; waiting.is_null() && answer.contains("selected"); ++run.rounds) {
      const json results = results_of(answer, step, drawn);
      if (own_line || answer.contains("more")) tell({{"returned", results}});
      else waiting = results;
    }
    if (waiting.is_null()) run.state.push_back(answer.at("state_sha256"));
    run.drawn.push_back(drawn);
  }
  if (!waiting.is_null())
    tell({{"returned", waiting}}), run.state.push_back(answer.at("state_sha256"));
  return run;
}

/// The same as a log: every line reports what its step came to.
Driven replayed(Trace t, const std::vector<json>& drawn) {
  Driven run;
  for (int step = 1; step <= kSteps; ++step) {
    json text = kStep, counts = json::object();
    for (const auto& [prompt, count] : drawn[std::size_t(step - 1)].items())
      text["report"].push_back(
          entry(json::parse(prompt.substr(0, prompt.find(' '))), step, 0, count));
    const json answer = json::parse(t.step(text.dump(), std::size_t(step)));
    std::set<std::string> named;
    for (std::size_t i = 0; i < answer.at("selected").size(); ++i)
      counts[name_of(answer, i, named)] = answer.at("counts")[i];
    run.drawn.push_back(counts), run.state.push_back(answer.at("state_sha256"));
  }
  return run;
}

TEST(Trace, ARunDrivenByReturnsIsTheRunReplayedFromReports) {
  int several = 0, helped = 0;
  for (const auto& row : policy_names()) {
    const Driven one_line = driven(trace(row), false), two_lines = driven(trace(row), true);
    several += one_line.rounds > kSteps;
    EXPECT_EQ(one_line.drawn, two_lines.drawn) << row;
    EXPECT_EQ(one_line.state, two_lines.state) << row;
    // A log has no field for help, so what succeeded with help would be learnt as the prompt's own.
    if (json(one_line.drawn).dump().find(" tier ") != std::string::npos) {
      ++helped;
      continue;
    }
    const Driven log = replayed(trace(row), one_line.drawn);
    EXPECT_EQ(log.drawn, one_line.drawn) << row;
    EXPECT_EQ(log.state, one_line.state) << row;
    EXPECT_EQ(log.drawn, two_lines.drawn) << row;
    EXPECT_EQ(log.state, two_lines.state) << row;
  }
  EXPECT_GE(several, 6);  // schedulers of several rounds that had them
  EXPECT_LE(helped, 3);   // ghpo, scaf_grpo and adhint
}

TEST(Trace, RoundsAreAnsweredOneByOne) {
  auto t = trace("reinforce_ada", std::nullopt, {{"ada_enough", "2"}, {"ada_keep", "2"}});
  const json first =
      json::parse(t.step(R"({"prompts": [1, 2], "select": 2, "budget": 4, "max_rollouts": 8})", 1));
  EXPECT_EQ(first.at("more"), true);
  EXPECT_FALSE(first.contains("train"));
  const json second = json::parse(t.step(
      R"({"returned": [{"prompt": 2, "rewards": [1, 0]}, {"prompt": 1, "rewards": [0, 0]}]})", 2));
  EXPECT_EQ(second.at("selected"), json({1}));  // prompt 2 has one of each
  EXPECT_EQ(second.at("counts"), json({2}));
  EXPECT_EQ(second.at("more"), true);
  EXPECT_FALSE(second.contains("state_sha256"));
  const json last = json::parse(t.step(R"({"returned": [{"prompt": 1, "rewards": [0, 1]}]})", 3));
  EXPECT_FALSE(last.contains("selected"));
  EXPECT_FALSE(last.contains("more"));
  EXPECT_EQ(last.at("train").size(), 2U);
  EXPECT_EQ(last.at("train")[0].at("prompt"), 1);
  EXPECT_EQ(last.at("train")[0].at("keep").size(), 4U);  // of both rounds: one right and one wrong
                                                         // of four
  EXPECT_FALSE(last.at("train")[1].contains("keep"));
}

TEST(Trace, TrainTellsWeightsAndWhatIsKept) {
  const std::string
      step = R"({"prompts": [1, 2], "select": 2, "budget": 16})",
      returned =
          R"({"returned": [{"prompt": 1, "rewards": [1,1,1,1,1,1,1,0]}, {"prompt": 2, "rewards": [0,0,0,0,0,0,0,0]}]})";
  const auto train = [&](const std::string& row, const Knobs& knobs = {}) {
    auto t = trace(row, std::nullopt, knobs);
    t.step(step, 1);
    return json::parse(t.step(returned, 2)).at("train");
  };
  EXPECT_EQ(train("uniform"),
            json::parse(R"([{"prompt": 1, "weight": 1.0}, {"prompt": 2, "weight": 1.0}])"));
  const json filtered = train("scalerl");
  EXPECT_FALSE(filtered[0].contains("keep"));
  EXPECT_EQ(filtered[1].at("keep"), json({0, 0, 0, 0, 0, 0, 0, 0}));
  const json weighted = train("gdro_reweight");
  EXPECT_GT(weighted[0].at("weight"), 1.0);
  EXPECT_EQ(weighted[0].at("weight"), weighted[1].at("weight"));  // one bin so far
}

TEST(Trace, AStepOfWhichNothingReturnsIsLearnedAsOneWithoutResults) {
  for (const char* row : {"gdro_both", "dapo", "sec"}) {
    auto silent = trace(row), told = trace(row);
    json text = kStep, reported = kStep;
    reported["report"] = json::array();
    silent.step(text.dump(), 1);
    const json next = json::parse(silent.step(text.dump(), 2)),
               log = json::parse(told.step(reported.dump(), 1));
    EXPECT_EQ(next.at("state_sha256"), log.at("state_sha256")) << row;
    EXPECT_FALSE(next.contains("train")) << row;
    EXPECT_EQ(next.at("counts"), json::parse(told.step(reported.dump(), 2)).at("counts")) << row;
  }
}

TEST(Trace, BothInOneLineAreOfTwoSteps) {
  auto both = trace("uniform_sqrt"), apart = trace("uniform_sqrt");
  json drawn = json::object();
  const json first = json::parse(both.step(kStep.dump(), 1));
  apart.step(kStep.dump(), 1);
  json text = kStep;
  text["report"] = {entry(2, 2, 0, 6), entry(3, 2, 0, 6)};
  const json returned = results_of(first, 1, drawn);
  apart.step(json({{"returned", returned}}).dump(), 2);
  const json separate = json::parse(apart.step(text.dump(), 3));
  text["returned"] = returned;
  const json together = json::parse(both.step(text.dump(), 2));
  EXPECT_EQ(together.at("counts"), separate.at("counts"));
  EXPECT_EQ(together.at("state_sha256"), separate.at("state_sha256"));
  EXPECT_EQ(together.at("train").size(), 4U);
}

/// Steps of a prompt that is drawn several times, its results in this order or the other.
std::string states_of(bool turned) {
  auto t = trace("one_shot", std::nullopt, {{"prompts_kept", "1"}, {"rank_after", "0.1"}});
  std::string states;
  for (std::size_t step = 1, line = 1; step <= 6; ++step) {
    const std::string progress = std::to_string(step > 2 ? 0.5 : 0.0);
    const json out = json::parse(t.step(
        R"({"prompts": [0, 1, 2], "select": 2, "budget": 5, "max_rollouts": 4, "progress": )" +
            progress + "}",
        line++));
    json returned = json::array();
    for (std::size_t i = 0; i < out.at("selected").size(); ++i) {
      const int n = out.at("counts")[i], right = (int(i) + int(step)) % (n + 1);
      json rewards = json::array();
      for (int k = 0; k < n; ++k) rewards.push_back(k < right ? 1 : 0);
      returned.push_back({{"prompt", out.at("selected")[i]}, {"rewards", rewards}});
    }
    if (turned) std::reverse(returned.begin(), returned.end());
    states += json::parse(t.step(json{{"returned", returned}}.dump(), line++)).at("state_sha256");
  }
  return states;
}

TEST(Trace, TheOrderOfWhatIsReturnedNeverMatters) { EXPECT_EQ(states_of(false), states_of(true)); }

TEST(Trace, KeepIsInTheOrderInWhichAPromptsResultsWereReturned) {
  auto t = trace("one_shot", std::nullopt, {{"prompts_kept", "1"}, {"rank_after", "0"}});
  t.step(
      R"({"prompts": [0], "select": 1, "budget": 2, "report": [{"prompt": 0, "rewards": [1, 0]}]})",
      1);
  auto pods = Trace({.row = "one_shot", .selection = "max_variance"},
                    {{"prompts_kept", "1"}, {"rank_after", "0"}, {"keep_share", "0.5"}}, 1, 3);
  pods.step(
      R"({"prompts": [0, 1, 2], "select": 1, "budget": 4, "report": [{"prompt": 0, "rewards": [1, 0, 1, 0]}]})",
      1);
  const json out = json::parse(
      pods.step(R"({"prompts": [0, 1, 2], "select": 2, "budget": 8, "progress": 0.5})", 2));
  if (out.at("selected") != json({0, 0})) GTEST_SKIP() << "not drawn twice: " << out;
  const json told = json::parse(pods.step(
      R"({"returned": [{"prompt": 0, "rewards": [1, 1, 1, 0]}, {"prompt": 0, "rewards": [0, 0, 0, 1]}]})",
      3));
  EXPECT_EQ(told.at("train")[0].at("keep")[3], 1);  // of the first list the only 0, of the second
                                                    // the only 1
  EXPECT_EQ(told.at("train")[1].at("keep")[3], 1);
}

TEST(Trace, HearsWhatTheRecipeMakesOfRewards) {
  const std::string step = R"({"prompts": [0, 1], "select": 2, "budget": 4})";
  const std::string equal =
      R"({"returned": [{"prompt": 0, "rewards": [0, 0], "shaped": [0, -0.5]}, {"prompt": 1, "rewards": [1, 0], "shaped": [1, 1]}]})";
  const auto trained = [&](bool hears_shaped) {
    Trace t({.row = "scalerl"}, {}, 1, std::nullopt, hears_shaped);
    t.step(step, 1);
    std::string kept;
    const json answer = json::parse(t.step(equal, 2));
    for (const json& group : answer.at("train")) kept += group.contains("keep") ? "-" : "+";
    return kept;
  };
  EXPECT_EQ(trained(true), "+-");
  EXPECT_EQ(trained(false), "-+");
}

TEST(Trace, RefusesWhatAPolicyCannotDoWithout) {
  const std::vector<std::tuple<const char*, const char*, const char*>> needs = {
      {"v0", "priors", "[0.5, 0.5, 0.5]"},
      {"v0_5", "priors", "[0.5, 0.5, 0.5]"},
      {"apriel_reasoner", "domains", R"(["a", "b", "a"])"}};
  for (const auto& [row, key, values] : needs) {
    const std::string step = R"({"prompts": [1, 2, 3], "select": 2, "budget": 8)";
    auto lacks = trace(row), has = trace(row), partly = trace(row, 10);
    EXPECT_NE(refusal(lacks, step + "}", 1).find(key), std::string::npos) << row;
    EXPECT_EQ(refusal(has, step + ", \"" + key + "\": " + values + "}", 1), "accepted") << row;
    EXPECT_NE(
        refusal(partly, step + ", \"" + key + "\": " + values + "}", 1).find("of every prompt"),
        std::string::npos)
        << row;
  }
  const std::string step =
      R"({"prompts": [1, 2, 3], "select": 1, "budget": 2, "report": [{"prompt": 1, "rewards": [0, 1])";
  auto lacks = trace("arrol"), has = trace("arrol"),
       diverse = trace("mmr1", std::nullopt, {{"diversity_weight", "0.5"}});
  EXPECT_NE(refusal(lacks, step + "}]}", 1).find("predicted"), std::string::npos);
  EXPECT_EQ(refusal(has, step + R"(, "predicted": [0.2, 0.9]}]})", 1), "accepted");
  EXPECT_NE(refusal(diverse, step + "}]}", 1).find("diversity"), std::string::npos);
}

TEST(Trace, RefusesNumbersThatWouldWrap) {
  auto levels = trace("uniform"), lengths = trace("uniform");
  EXPECT_NE(
      refusal(levels, R"({"prompts": [1, 2], "levels": [1, 2147483648], "select": 1, "budget": 2})",
              1)
          .find("2147483647"),
      std::string::npos);
  lengths.step(R"({"prompts": [1], "select": 1, "budget": 2})", 1);
  EXPECT_NE(
      refusal(lengths,
              R"({"returned": [{"prompt": 1, "rewards": [1, 0], "lengths": [4294967297, 1]}]})", 2)
          .find("2147483647"),
      std::string::npos);
}

}  // namespace
}  // namespace rollcall::scheduling
