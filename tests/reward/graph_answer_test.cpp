// Answers about graphs, {correct, format, partial}: checked, not compared, where several are right.
#include "base/errors/error.hpp"
#include "reward/judged.hpp"

#include <gtest/gtest.h>

namespace rollcall::reward {
namespace {

/// A square A-B-C-D with the diagonal A-C and the lone edge E-F.
std::string square(const std::string& family, const std::string& answer) {
  return R"({"family": ")" + family +
         R"(", "nodes": 6, "edges": ["AB", "BC", "CD", "AD", "AC", "EF"], "answer": )" + answer +
         "}";
}

std::string say(const std::string& reference, const std::string& response) {
  return verdict(judged("graph", reference, response));
}

TEST(GraphAnswer, AnySpellingOfNodes) {
  for (const char* path : {"BCD",
                           "B-C-D",
                           "B -> C -> D",
                           "[B, C, D]",
                           "B,A,D",
                           "BAD",
                           "B→C→D",
                           "B ⇒ C ⇒ D",
                           "B — C — D",
                           "['B', 'C', 'D']",
                           "[\"B\", \"C\", \"D\"]",
                           "“B”, “C”, “D”",
                           "B => C => D",
                           "$B \\to C \\to D$",
                           "\\boxed{B \\rightarrow C \\rightarrow D}",
                           "\\text{B} \\to \\text{C} \\to \\text{D}",
                           "The answer is B → C → D.",
                           "The path is B-C-D.",
                           "**B-C-D**",
                           "B-C-D."})
    EXPECT_EQ(say(square("shortest_path", "\"BD\""), path).substr(0, 5), "1 1 1") << path;
}

TEST(GraphAnswer, ShortestPath) {
  const auto reference = square("shortest_path", "\"BD\"");
  EXPECT_EQ(say(reference, "BACD"), "0 1 0.667 | BACD");  // a path of three edges where two do
  EXPECT_EQ(say(reference, "BD"), "0 1 0 | BD");          // no edge
  EXPECT_EQ(say(reference, "DCB"), "0 1 0 | DCB");        // the other way round
  EXPECT_EQ(say(reference, "BCA"), "0 1 0 | BCA");        // ends elsewhere
  EXPECT_EQ(say(reference, "bcd"), "0 0 0 | ");
  EXPECT_EQ(say(reference, "B to D"), "0 0 0 | ");
  for (const char* none : {"D <- C <- B", "B ← C ← D", "The answer is BCD or BAD.", "BCD or BAD"})
    EXPECT_EQ(say(reference, none).substr(0, 2), "0 ") << none;
  EXPECT_EQ(say(reference, "BCG"), "0 0 0 | ");
  EXPECT_EQ(say(reference, ""), "0 0 0 | ");
  EXPECT_EQ(verdict(judged("graph", reference, "BCD", false)), "0 0 0 | ");
}

TEST(GraphAnswer, SetsCountByTheirOverlap) {
  const auto reference = square("connected_component", "\"ABCD\"");
  EXPECT_EQ(say(reference, "D, C, B, A"), "1 1 1 | D, C, B, A");
  EXPECT_EQ(say(reference, "AB"), "0 1 0.5 | AB");        // 2 of 4 elements of the union
  EXPECT_EQ(say(reference, "ABEF"), "0 1 0.333 | ABEF");  // 2 of 6
  EXPECT_EQ(say(reference, "AAB"), "0 0 0 | ");
}

TEST(GraphAnswer, AnyCycleOrNone) {
  const auto reference = square("cycle", "\"any\"");
  for (const char* good : {"ABC", "ABCA", "ACD", "ABCD", "DCBA"})
    EXPECT_EQ(say(reference, good), std::string("1 1 1 | ") + good);
  EXPECT_EQ(say(reference, "BCD"), "0 1 0.667 | BCD");  // D-B is no edge
  EXPECT_EQ(say(reference, "AB"), "0 1 0 | AB");
  EXPECT_EQ(say(reference, "ABAC"), "0 1 0 | ABAC");
  EXPECT_EQ(say(reference, "none"), "0 1 0 | none");
  const std::string tree =
      R"({"family": "cycle", "nodes": 3, "edges": ["AB", "BC"], "answer": "none"})";
  EXPECT_EQ(say(tree, "None"), "1 1 1 | None");
  EXPECT_EQ(say(tree, "ABC"), "0 1 0.667 | ABC");
}

TEST(GraphAnswer, AnyTopologicalOrder) {
  const std::string reference =
      R"({"family": "topological_order", "nodes": 4, "edges": ["AB", "AC", "BD", "CD"], "answer": null})";
  EXPECT_EQ(say(reference, "ABCD"), "1 1 1 | ABCD");
  EXPECT_EQ(say(reference, "A C B D"), "1 1 1 | A C B D");
  EXPECT_EQ(say(reference, "ABDC"), "0 1 0.75 | ABDC");  // C-D leads backwards
  EXPECT_EQ(say(reference, "ABD"), "0 0 0 | ");
  EXPECT_EQ(say(reference, "ABCC"), "0 0 0 | ");
}

TEST(GraphAnswer, Numbers) {
  for (const char* family : {"degree", "triangles", "max_flow"}) {
    EXPECT_EQ(say(square(family, "2"), "2"), "1 1 1 | 2");
    EXPECT_EQ(say(square(family, "2"), "3"), "0 1 0 | 3");
    for (const char* spelling : {"$2$", "\\boxed{2}", "The answer is 2.", "It is 2"})
      EXPECT_EQ(say(square(family, "2"), spelling), "1 1 1 | 2") << spelling;
    EXPECT_EQ(say(square(family, "2"), "2 or 3").substr(0, 1), "0");
    EXPECT_EQ(say(square(family, "2"), "two"), "0 0 0 | ");
    EXPECT_EQ(say(square(family, "2"), "99999999999999999999"), "0 0 0 | ");
  }
}

TEST(GraphAnswer, AReferenceThatCannotBeUsedIsRefused) {
  for (const auto& reference :
       {std::string("{}"), square("paths", "1"), square("degree", "-1"), square("degree", "1.5"),
        square("degree", "\"1\""), square("shortest_path", "\"AE\""),
        square("shortest_path", "\"AAB\""), square("connected_component", "\"AA\""),
        square("connected_component", "\"AG\""),
        std::string(R"({"family": "cycle", "nodes": 27, "edges": [], "answer": "none"})"),
        std::string(R"({"family": "cycle", "nodes": 2, "edges": ["AA"], "answer": "none"})"),
        std::string(R"({"family": "cycle", "nodes": 2, "edges": ["AB", "BA"], "answer": "none"})"),
        std::string(R"({"family": "cycle", "nodes": 2, "edges": [7], "answer": "none"})")})
    EXPECT_THROW(say(reference, "A"), InputError) << reference;
}

}  // namespace
}  // namespace rollcall::reward
