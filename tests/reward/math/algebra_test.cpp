// Verdicts worked by hand, a table a category.
#include "reward/math/decide.hpp"

#include <gtest/gtest.h>

namespace rollcall::reward::math {
namespace {

TEST(Decide, a) { EXPECT_EQ(decide("1", "1").verdict.answer, Answer::equal); }

}  // namespace
}  // namespace rollcall::reward::math
