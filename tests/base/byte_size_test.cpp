// Sizes with units.
#include "base/text/byte_size.hpp"

#include "base/errors/error.hpp"

#include <gtest/gtest.h>

namespace rollcall {
namespace {

TEST(ByteSize, ReadsUnitsOf1024) {
  EXPECT_EQ(parse_bytes("123", "x"), 123U);
  EXPECT_EQ(parse_bytes("2K", "x"), 2048U);
  EXPECT_EQ(parse_bytes("1.5m", "x"), 1572864U);
  for (const char* text : {"6G", "6g", "6 GB", "6GiB", "6144M"})
    EXPECT_EQ(parse_bytes(text, "x"), std::uint64_t(6) << 30) << text;
  EXPECT_EQ(parse_bytes("1T", "x"), std::uint64_t(1) << 40);
}

TEST(ByteSize, RefusesWhatIsNone) {
  for (const char* text :
       {"", "G", "-1", "six", "6X", "6GG", "6 G b i", "1e300G", "nan", "inf", "6G6"}) {
    EXPECT_THROW(parse_bytes(text, "run.memory_limit"), ConfigError) << text;
  }
}

TEST(ByteSize, WritesForPeople) {
  EXPECT_EQ(bytes_text(1234), "1 kB");
  EXPECT_EQ(bytes_text(512'000'000), "512 MB");
  EXPECT_EQ(bytes_text(5'060'000'000), "5.1 GB");
  EXPECT_EQ(bytes_text(2'500'000'000'000), "2.5 TB");
}

}  // namespace
}  // namespace rollcall
