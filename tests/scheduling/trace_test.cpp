// Lines in, decisions out: what is selected, what orders may not matter, what a bad line is told.
#include "scheduling/trace.hpp"

#include "base/error.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <numeric>

namespace rollcall::scheduling {
namespace {

using nlohmann::json;

Trace trace(const std::string& row, std::optional<std::uint64_t> prompts = std::nullopt, const Knobs& knobs = {}) { return {{.row = row}, knobs, 1, prompts}; }

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
  const json a = json::parse(
      learned.step(first + R"(, "report": [{"prompt": "easy", "rewards": [1,1,1,1,1,1,1,1]}, {"prompt": "half", "rewards": [1,0,1,0,1,0,1,0]}]})", 1));
  const json b = json::parse(told_nothing.step(first + "}", 1));
  EXPECT_EQ(a.at("counts"), b.at("counts"));  // the report is not known yet
  EXPECT_NE(a.at("state_sha256"), b.at("state_sha256"));
  const json next = json::parse(learned.step(first + "}", 2));
  EXPECT_EQ(next.at("selected"), json({"easy", "half"}));
  EXPECT_LT(next.at("counts")[0], next.at("counts")[1]);  // a prompt that always succeeds teaches nothing
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
    const json out = json::parse(t.step(R"({"prompts": [10, 20, 999], "select": 2, "budget": 4})", step));
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
      {R"({"prompts": [1, 8], "select": 1, "budget": 4})", "prompt 8 is not among the first line's candidates"},
      {R"({"prompts": [1, 2], "select": 3, "budget": 4})", "3 prompts to select of 2 candidates"},
      {R"({"prompts": [1, 2], "select": 0, "budget": 4})", "\"select\" is 0"},
      {R"({"prompts": [1, 2], "select": 1, "budget": 1.5})", "\"budget\" is 1.5"},
      {R"({"prompts": [1, 2], "select": 2, "budget": 4, "max_rollouts": 1})", "budget"},
      {R"({"prompts": [1, 2], "select": 1, "budget": 4, "levels": [1, 2]})", "something else than the first line"},
      {R"({"prompts": [1, 2], "select": 1, "budget": 4, "step": 1})", "step 1 after step 1"},
      {R"({"prompts": [1, 2], "select": 1, "budget": 4, "report": [{"prompt": 1}]})", "\"rewards\" is missing"},
      {R"({"prompts": [1, 2], "select": 1, "budget": 4, "report": [{"prompt": 1, "rewards": [1, "x"]}]})", "write a number"},
      {R"({"prompts": [1, 2], "select": 1, "budget": 4, "report": [{"prompt": 1, "rewards": [1], "correct": [1, 0]}]})", "has 2 entries, not 1"},
  };
  for (const auto& [line, expected] : wrong) {
    const std::string told = refusal(t, line, 2);
    EXPECT_TRUE(told.starts_with("line 2: ")) << line << "\n" << told;
    EXPECT_NE(told.find(expected), std::string::npos) << line << "\n" << told;
  }
  EXPECT_THROW(trace("unifrm"), ConfigError);
  EXPECT_THROW(trace("uniform_sqrt", std::nullopt, {{"nope", "1"}}), ConfigError);
}

}  // namespace
}  // namespace rollcall::scheduling
