// What a run's texts come to, as `plan` reads them: every split, form and example counts, and what
// does not fit is refused.
#include "base/errors/error.hpp"
#include "base/files/file.hpp"
#include "io/sample_run.hpp"
#include "run/context/run_context.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace rollcall::run {
namespace {

/// Of a task in three files, tokens are characters; a prompt has a newline behind it.
class LongestGiven : public testing::Test {
 protected:
  sizing::GivenTexts given(const std::string& train, const std::string& heldout,
                           const std::string& examples, std::vector<std::string> more = {}) {
    const auto file = [&](const char* name, const std::string& text) {
      write_file_atomic(folder_.path() / name, text);
      return fmt::format("\"{}\"", (folder_.path() / name).string());
    };
    std::vector<std::string> settings{
        "task.name=file",
        fmt::format("task.file={}", file("train.jsonl", train)),
        fmt::format("task.heldout_file={}", file("heldout.jsonl", heldout)),
        "task.validation_prompts=1",
        "task.heldout_prompts=1",
        "sampling.max_new_tokens=4",
        "train.prompts_per_step=1"};
    settings.push_back(examples.empty() ? "sft.steps=0" : "sft.steps=1");
    if (!examples.empty())
      settings.push_back(fmt::format("sft.file={}", file("examples.jsonl", examples)));
    settings.insert(settings.end(), more.begin(), more.end());
    return longest_given(load_run_config({}, settings),
                         {.ranks = 1, .threads = 2, .weights = false});
  }
  std::string lines(const char* line, int first) {
    std::string text;
    for (int i = first; i < first + 8; ++i)
      text += fmt::format("{{\"question\": \"{}{}\n", i, line);
    return text;
  }

 private:
  io::test::RunFolder folder_;
};

constexpr const char *kPlain = R"(", "answer": "#### 3"})",
                     *kLonger = R"(+1+1", "answer": "#### 3"})";

TEST_F(LongestGiven, CountsEverySplitAndTheExamples) {
  const std::string train = lines(kPlain, 10), heldout = lines(kPlain, 50);
  const sizing::GivenTexts base = given(train, heldout, "");
  EXPECT_GT(base.prompt, 2);
  EXPECT_EQ(base.example, 0);
  EXPECT_EQ(given(lines(kLonger, 10), heldout, "").prompt, base.prompt + 4);
  EXPECT_EQ(given(train, lines(kLonger, 50), "").prompt, base.prompt + 4)
      << "held-out prompts are sampled too";
  EXPECT_GT(given(train, heldout, R"({"prompt": "1", "answer": "123456789012"})").example, 13);
}

TEST_F(LongestGiven, RefusesWhatTheModelHasNoRoomFor) {
  EXPECT_NO_THROW(
      given(lines(kPlain, 10), lines(kPlain, 50), "", {"model.max_position_embeddings=16"}));
  EXPECT_THROW(given(lines(kPlain, 10), lines(kPlain, 50), "", {"model.max_position_embeddings=5"}),
               ConfigError);
}

/// Behind the longest prompt 11 positions are left.
TEST_F(LongestGiven, AConversationMustFitBehindEveryPrompt) {
  const std::string train = lines(kPlain, 10), heldout = lines(kPlain, 50);
  const std::int64_t prompt = given(train, heldout, "").prompt;
  const auto fits = [&](std::vector<std::string> settings) {
    settings.push_back(fmt::format("model.max_position_embeddings={}", prompt + 11));
    try {
      (void)given(train, heldout, "", settings);
      return std::string();
    } catch (const ConfigError& refused) {
      return std::string(refused.what());
    }
  };
  const std::string talks = "environment.command=[\"true\"]";
  EXPECT_EQ(fits({"sampling.max_new_tokens=11"}), "");
  EXPECT_EQ(fits({talks, "environment.max_tokens=11"}), "");
  const std::string all = fits({talks, "environment.max_tokens=12"});
  EXPECT_NE(all.find("with 12 new ones"), std::string::npos) << all;
  EXPECT_NE(all.find("lower environment.max_tokens"), std::string::npos) << all;
  EXPECT_EQ(fits({"environment.max_tokens=12"}), "") << "nobody talks";
  // Where the positions limit it, the first turn must fit.
  EXPECT_NE(fits({talks, "sampling.max_new_tokens=12"}), "");
  EXPECT_EQ(fits({talks, "sampling.max_new_tokens=12", "sampling.turn_tokens=11"}), "");
  const std::string turn = fits({talks, "sampling.max_new_tokens=13", "sampling.turn_tokens=12"});
  EXPECT_NE(turn.find("lower sampling.turn_tokens"), std::string::npos) << turn;
}

}  // namespace
}  // namespace rollcall::run
