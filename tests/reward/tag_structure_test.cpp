// Sections in tags: {correct, format, structure, content}.
#include "base/errors/error.hpp"
#include "reward/judged.hpp"

#include <gtest/gtest.h>

namespace rollcall::reward {
namespace {

constexpr const char* kReasoning = R"({"tags": [["think", null], ["answer", "42"]]})";
constexpr const char* kThree = R"({"tags": [["a", "x"], ["b", null], ["c", "y"]]})";

std::string say(const std::string& response, const char* reference = kReasoning) {
  return verdict(judged("tag_structure", reference, response));
}

TEST(TagStructure, HandWorked) {
  EXPECT_EQ(say("<think>six times seven</think><answer>42</answer>"), "1 1 1 1 | 42");
  EXPECT_EQ(say(" <think>\nif a<b then\n</think>\n\n<answer> 42 </answer>\n"), "1 1 1 1 | 42");
  EXPECT_EQ(say("<think>so</think><answer>41</answer>"), "0 1 1 0 | 41");
  EXPECT_EQ(say("<think></think><answer>42</answer>"), "0 1 0.5 1 | 42");        // nothing thought
  EXPECT_EQ(say("<answer>42</answer><think>so</think>"), "0 0 1 1 | 42");        // out of order
  EXPECT_EQ(say("Sure! <think>so</think><answer>42</answer>"), "0 0 1 1 | 42");  // words before
  EXPECT_EQ(say("<think>so</think><answer>42</answer>."), "0 0 1 1 | 42");       // and behind
  EXPECT_EQ(say("<think>so</think><answer>42"), "0 0 0.5 0 | so");               // not closed
  // one within the other
  EXPECT_EQ(say("<think>so<answer>42</answer></think>"), "0 0 1 1 | 42");
  EXPECT_EQ(say("<think>so</think><answer>42</answer><answer>42</answer>"), "0 0 0.5 0 | so");
  EXPECT_EQ(say("</think>so<think><answer>42</answer>"), "0 0 0.5 1 | 42");
  EXPECT_EQ(say("<Think>so</Think><answer>42</answer>"), "0 0 0.5 1 | 42");
  EXPECT_EQ(say("42"), "0 0 0 0 | ");
  EXPECT_EQ(say(""), "0 0 0 0 | ");
}

TEST(TagStructure, SharesAreOfTagsAndOfGivenContents) {
  EXPECT_EQ(say("<a>x</a><b>?</b><c>y</c>", kThree), "1 1 1 1 | y");
  EXPECT_EQ(say("<a>z</a><b>?</b><c>y</c>", kThree), "0 1 1 0.5 | y");
  EXPECT_EQ(say("<a>x</a>", kThree), "0 0 0.333 0.5 | x");
}

TEST(TagStructure, WhatTheLimitMayHaveCutIsNoAnswer) {
  const Score cut =
      judged("tag_structure", kReasoning, "<think>so</think><answer>42</answer>", false);
  EXPECT_EQ(verdict(cut), "0 0 0 0 | ");
  EXPECT_NE(cut.reason.find("limit"), std::string::npos);
}

TEST(TagStructure, SaysWhy) {
  EXPECT_EQ(judged("tag_structure", kReasoning, "<think>so</think><answer>41</answer>").reason,
            "<answer> holds something else");
  EXPECT_EQ(judged("tag_structure", kReasoning, "<think>so</think><answer>42</answer>").reason, "");
}

TEST(TagStructure, AReferenceThatCannotBeUsedIsRefused) {
  for (const char* reference : {"", "42", "{}", R"({"tags": []})", R"({"tags": [["", null]]})",
                                R"({"tags": [["a"]]})", R"({"tags": [["a", 1]]})"})
    EXPECT_THROW(say("<a>1</a>", reference), InputError) << reference;
}

}  // namespace
}  // namespace rollcall::reward
