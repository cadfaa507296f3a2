// Places are filled once, whatever is put in.
#include "text/answer/fill.hpp"

#include <gtest/gtest.h>

namespace rollcall::text {
namespace {

TEST(Fill, PlacesAreFilledInOnePass) {
  const Place places[] = {{"{prompt}", "2+2="}, {"{response}", "{prompt}5{}"}};
  EXPECT_EQ(filled("{prompt}{response}? {answer} {prompt", places),
            "2+2={prompt}5{}? {answer} {prompt");
  EXPECT_EQ(filled("", places), "");
  EXPECT_EQ(filled("{prompt}", {}), "{prompt}");
}

TEST(Fill, WithoutSpecialTokensNothingIsLost) {
  const auto tokenizer = make_tokenizer("character");
  // its special tokens cannot be spelt
  EXPECT_EQ(without_special(*tokenizer, "a<eos>\xFF\n"), "a<eos>\xFF\n");
}

}  // namespace
}  // namespace rollcall::text
