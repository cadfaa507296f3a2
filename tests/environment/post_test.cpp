// The post between drivers and the thread that runs a command: what is asked, closed and answered,
// and the end of that thread by an error.
#include "environment/command/post.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace rollcall::environment {
namespace {

LinesOfTalk lines_of(const std::string& id) {
  static const Prompt prompt{};
  Talk talk;
  talk.id = id, talk.prompt = &prompt;
  return LinesOfTalk(talk);
}

TEST(Post, BringsAnswersToWhatIsOpen) {
  Post post;
  AnswerQueue queue;
  post.ask(lines_of("a"), 1, queue), post.ask(lines_of("b"), 2, queue);
  post.close("b");
  const auto items = post.collect();
  ASSERT_TRUE(items.has_value());
  EXPECT_EQ(items->size(), 3U);
  post.deliver("b", {.text = "late"}), post.deliver("a", {.text = "said"});
  post.deliver("a", {.text = "again"});
  const auto answers = queue.take();
  ASSERT_EQ(answers.size(), 1U) << "none after a close, and one for each question";
  EXPECT_EQ(answers[0].first, 1U);
  EXPECT_EQ(answers[0].second.text, "said");
  post.end();
  EXPECT_FALSE(post.collect().has_value());
}

/// That no process can be started says nothing about a conversation: nothing is made of it.
TEST(Post, AnErrorOfTheMachineReachesWhoeverWaits) {
  Post post;
  AnswerQueue queue, other;
  post.ask(lines_of("a"), 7, queue);
  post.fail(std::make_exception_ptr(std::runtime_error("no more processes")));
  EXPECT_THROW((void)queue.take(60), std::runtime_error);
  EXPECT_THROW((void)queue.take(), std::runtime_error) << "each time";
  EXPECT_TRUE(other.take().empty()) << "nobody waits there";
  EXPECT_THROW(post.ask(lines_of("b"), 8, other), std::runtime_error);
  post.close("a");
}

}  // namespace
}  // namespace rollcall::environment
