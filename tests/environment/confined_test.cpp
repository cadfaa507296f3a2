// An environment in the sandbox: each answer is a run of its own, and each way to end is one loss.
#include "environment/command/processes.hpp"
#include "sandbox/sandbox.hpp"

#include <gtest/gtest.h>

namespace rollcall::environment {
namespace {

/// It counts the lines that it reads, and does what the last one says.
const char* const kShell = R"(
count=0
while read -r line; do count=$((count + 1)); last=$line; done
id=${last#*'"id":"'}; id=${id%%'"'*}
case $last in
  *'"action":"fail"'*) echo "it broke" >&2; exit 3 ;;
  *'"action":"hang"'*) while :; do :; done ;;
  *'"action":"lie"'*) echo nonsense; exit 0 ;;
  *'"action":"other"'*) id=another ;;
esac
echo "a line that is no answer"
printf '{"id":"%s","state":%s,"text":"%s lines"}\n' "$id" "$1" "$count"
)";

class Confined : public testing::Test {
 protected:
  static void SetUpTestSuite() {  // before any thread
    if (sandbox::started() == nullptr)
      sandbox::start({.limits = {.cpu_s = 1, .wall_s = 60}, .allow_landlock = true, .workers = 2});
  }
  static Answer ask(Partner& partner, const Talk& talk) {
    AnswerQueue queue;
    EXPECT_FALSE(partner.ask(talk, 1, queue));
    for (int looks = 0; looks < 600; ++looks)
      if (auto answers = queue.take(0.1); !answers.empty()) return answers.front().second;
    ADD_FAILURE() << "no answer";
    return {};
  }
  static std::unique_ptr<Partner> partner(const char* state) {
    RunConfig config;
    config.environment.command = {"/bin/sh", "-c", kShell, "sh", state};
    config.environment.sandbox = true;
    return make_confined(config);
  }
};

TEST_F(Confined, AnswersFollowFromTheLinesAlone) {
  const Prompt prompt{};
  Talk talk;
  talk.id = "train/1/0/0/0", talk.prompt = &prompt;
  const auto keeps = partner("null"), hands_out = partner("7");
  EXPECT_EQ(ask(*keeps, talk).text, "1 lines");
  talk.said = {"1 lines", "2 lines"}, talk.actions = {"a", "b"};
  EXPECT_EQ(ask(*keeps, talk).text, "3 lines") << "the reset and two steps";
  talk.state = "7";
  const Answer answer = ask(*hands_out, talk);
  EXPECT_EQ(answer.text, "1 lines") << "the last step, which has the state";
  EXPECT_EQ(answer.state, "7");
}

TEST_F(Confined, EveryEndIsOneLoss) {
  const Prompt prompt{};
  Talk talk;
  talk.id = "train/1/0/0/0", talk.prompt = &prompt;
  const auto made = partner("0");
  const auto say = [&](const std::string& action) {
    talk.said = {""}, talk.actions = {action}, talk.state = "0";
    return ask(*made, talk);
  };
  const Answer failed = say("fail");
  EXPECT_EQ(failed.loss, Loss::died);
  EXPECT_NE(failed.reason.find("it broke"), std::string::npos) << failed.reason;
  EXPECT_EQ(say("lie").loss, Loss::malformed);
  EXPECT_EQ(say("other").loss, Loss::malformed);
  EXPECT_EQ(say("hang").loss, Loss::clock);
  EXPECT_EQ(say("go on").loss, Loss::none);
}

}  // namespace
}  // namespace rollcall::environment
