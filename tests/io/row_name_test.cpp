// The name of a prompt's row, from what the archive keeps of it.
#include "io/row_name.hpp"

#include <gtest/gtest.h>

namespace rollcall::io {
namespace {

TEST(RowName, IsTheIdOrElseTheLine) {
  EXPECT_EQ(row_name(R"({"id": "q17", "source": "tables"})").text(), "row q17");
  EXPECT_EQ(row_name(R"({"id": 17})").text(), "row 17");
  EXPECT_EQ(row_name(R"({"id": ["a", 1]})").name, R"(["a",1])") << "an id of any kind has a name";
  EXPECT_EQ(row_name(R"({"line": 12, "source": "tables"})").text(), "line 12");
  EXPECT_EQ(row_name(R"({"id": "", "line": 3})").name, "")
      << "a row with an id has no line of its own";
  for (const char* none : {"", "{}", "[1]", "no JSON"}) EXPECT_EQ(row_name(none).name, "") << none;
}

}  // namespace
}  // namespace rollcall::io
