// Which numbers of JSON keep their digits, and which are written as a double writes them.
#include "base/text/exact_number.hpp"

#include <gtest/gtest.h>

namespace rollcall {
namespace {

std::string number(const std::string& digits) {
  return exact_number(R"({"b": {"a": 7}, "a": )" + digits + R"(, "c": [1.5]})", "a");
}

TEST(ExactNumber, KeepsWhatADoubleRounds) {
  for (const char* kept : {"5", "-5", "9007199254740993", "18446744073709551616",
                           "-12345678901234567890123", "0.12345678901234567891", "1.5"})
    EXPECT_EQ(number(kept), kept);
}

TEST(ExactNumber, IsWrittenAsADoubleIsWhereOneHoldsIt) {
  EXPECT_EQ(number("1.50"), "1.5");
  EXPECT_EQ(number("1e2"), "100.0");
  EXPECT_EQ(number("0.001"), "0.001");
}

}  // namespace
}  // namespace rollcall
