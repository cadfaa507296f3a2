// Every kind of instruction on a text that follows it and on ones that do not; {correct, format,
// followed}.
#include "base/errors/error.hpp"
#include "reward/instruction_checks.hpp"
#include "reward/judged.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace rollcall::reward {
namespace {

struct Case {
  const char* kind;
  const char* arguments;
  std::vector<const char*> good, bad;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"keywords:existence",
       R"({"keywords": ["sea", "boat"]})",
       {"A Boat at seaside."},
       {"A boat.", "The sea."}},
      {"keywords:frequency",
       R"({"keyword": "sea", "frequency": 2, "relation": "at least"})",
       {"Sea, sea.", "seaseasea"},
       {"The sea."}},
      {"keywords:frequency",
       R"({"keyword": "sea", "frequency": 2, "relation": "less than"})",
       {"The sea.", "A boat."},
       {"Sea, sea."}},
      {"keywords:forbidden_words",
       R"({"forbidden_words": ["sea"]})",
       {"The seaside."},
       {"The Sea.", "sea"}},
      {"keywords:forbidden_words",
       R"({"forbidden_words": ["ice cream", "don't", "well-known"]})",
       {"Nice creamery, known well."},
       {"An Ice cream.", "I don't.", "a (well-known) one"}},
      {"keywords:letter_frequency",
       R"({"letter": "e", "let_frequency": 3, "let_relation": "at least"})",
       {"Even Eve."},
       {"Seen it."}},
      {"length_constraints:number_words",
       R"({"num_words": 3, "relation": "less than"})",
       {"Two words.", "a b"},
       {"One two three."}},
      {"length_constraints:number_words",
       R"({"num_words": 3, "relation": "exactly"})",
       {"One, two, three!"},
       {"One two.", "One two three four."}},
      {"length_constraints:number_sentences",
       R"({"num_sentences": 2, "relation": "at least"})",
       {"One. Two", "Really?! Yes."},
       {"One.", "1.5 is one"}},
      {"length_constraints:number_paragraphs",
       R"({"num_paragraphs": 2})",
       {"One.\n***\nTwo.", "One.***Two.***"},
       {"One.\n\nTwo.", "One.\n***\n***\nTwo.", "One.\n***\nTwo.\n***\nThree."}},
      {"length_constraints:nth_paragraph_first_word",
       R"({"num_paragraphs": 2, "nth_paragraph": 2, "first_word": "but"})",
       {"One.\n\n'But two.", "One.\n\n\n\nbut"},
       {"But one.\n\nTwo.", "One.\n\nbut\n\nbut"}},
      {"detectable_content:number_placeholders",
       R"({"num_placeholders": 2})",
       {"[name] at [address]", "[] [] []"},
       {"[name] only", "[name\n] [b]", "]["}},
      {"detectable_content:postscript",
       R"({"postscript_marker": "P.S."})",
       {"Yes.\nP.S. More.", "p. s. more"},
       {"PS more", "P.P"}},
      {"detectable_format:number_bullet_lists",
       R"({"num_bullets": 2})",
       {"- a\n- b", "* a\n  - b"},
       {"- a", "- a\n- b\n- c", "** a\n- b"}},
      {"detectable_format:constrained_response",
       "{}",
       {"My answer is yes.", "Well. My answer is maybe. So."},
       {"my answer is yes.", "My answer is yes"}},
      {"detectable_format:number_highlighted_sections",
       R"({"num_highlights": 2})",
       {"*a* and **b**", "*a* *b* *c*"},
       {"*a* and b", "* * *a*", "*a\n* b*"}},
      {"detectable_format:multiple_sections",
       R"({"section_spliter": "Section", "num_sections": 2})",
       {"Section 1\na\nSection 2\nb", "Section1 Section2"},
       {"Section 1", "Section one Section two"}},
      {"detectable_format:json_format",
       "{}",
       {R"({"a": 1})", "```json\n[1]\n```", "3"},
       {"{a: 1}", "a", R"({"a": 1} so)"}},
      {"detectable_format:title",
       "{}",
       {"<<A title>>\nText.", "<<>> <<b>>"},
       {"<<>>", "<<a\nb>>", "<A>"}},
      {"combination:two_responses",
       "{}",
       {"One.\n******\nTwo.", "One.******Two.******"},
       {"One.", "One.******One.", "a******b******c", "a****** ******b"}},
      {"combination:repeat_prompt",
       R"({"prompt_to_repeat": "Write about the sea."})",
       {"Write about the sea. It is wide.", "write about the SEA."},
       {"It is wide.", "About the sea."}},
      {"startend:start_checker",
       R"({"start_phrase": "Good night"})",
       {"Good night, all.", "good NIGHT"},
       {"A good night."}},
      {"startend:end_checker",
       R"({"end_phrase": "So it goes."})",
       {"Well. So it goes.", "\"so it goes.\""},
       {"So it goes. Well.", "So it goes"}},
      {"startend:quotation", "{}", {"\"Yes.\"", " \"\" "}, {"\"", "Yes \"no\"", "'Yes.'"}},
      {"change_case:capital_word_frequency",
       R"({"capital_frequency": 2, "capital_relation": "at least"})",
       {"I say NO.", "AB C1"},
       {"I say no.", "No No"}},
      {"change_case:english_capital", "{}", {"YES, 3.", "A"}, {"Yes.", "123"}},
      {"change_case:english_lowercase", "{}", {"yes, 3.", "a"}, {"Yes.", "123"}},
      {"punctuation:no_comma", "{}", {"One two."}, {"One, two."}},
  };
  return all;
}

TEST(Instructions, EveryKindHandWorked) {
  std::set<std::string> seen;
  for (const Case& c : cases()) {
    seen.insert(c.kind);
    const auto arguments = nlohmann::json::parse(c.arguments);
    for (const char* text : c.good)
      EXPECT_TRUE(follows(c.kind, arguments, text)) << c.kind << c.arguments << text;
    for (const char* text : c.bad)
      EXPECT_FALSE(follows(c.kind, arguments, text)) << c.kind << c.arguments << text;
    EXPECT_FALSE(follows(c.kind, arguments, " \n")) << c.kind;  // nothing follows nothing
  }
  const auto kinds = instruction_kinds();
  EXPECT_EQ(seen, std::set<std::string>(kinds.begin(), kinds.end()));
  EXPECT_EQ(kinds.size(), 25U);
}

TEST(Instructions, ALineOfIfEvalIsAReference) {
  constexpr const char* kLine =
      R"({"key": 1, "prompt": "Write two words.", "instruction_id_list": ["punctuation:no_comma", "length_constraints:number_words"],
                                    "kwargs": [{}, {"num_words": 3, "relation": "less than", "num_sentences": null}]})";
  EXPECT_EQ(verdict(judged("instructions", kLine, "Two words.")), "1 1 1 | ");
  EXPECT_EQ(verdict(judged("instructions", kLine, "Now, two words.")), "0 1 0 | ");
  const Score half = judged("instructions", kLine, "Here are two words.");
  EXPECT_EQ(verdict(half), "0 1 0.5 | ");
  EXPECT_EQ(half.reason, "not followed: length_constraints:number_words");
  EXPECT_EQ(verdict(judged("instructions", kLine, "")), "0 0 0 | ");
  EXPECT_EQ(verdict(judged("instructions", kLine, "Two words.", false)), "0 0 0 | ");
}

TEST(Instructions, AReferenceThatCannotBeUsedIsRefused) {
  const auto refused = [](const std::string& kind, const std::string& arguments) {
    try {
      judged("instructions",
             R"({"instruction_id_list": [")" + kind + R"("], "kwargs": [)" + arguments + "]}",
             "text");
    } catch (const InputError& e) {
      return std::string(e.what());
    }
    return std::string("accepted");
  };
  EXPECT_NE(refused("punctuation:no_coma", "{}").find("did you mean punctuation:no_comma?"),
            std::string::npos);
  EXPECT_NE(refused("language:response_language", R"({"language": "de"})"), "accepted");
  EXPECT_NE(
      refused("length_constraints:number_words", R"({"num_words": 3, "relation": "more than"})"),
      "accepted");
  EXPECT_NE(
      refused("length_constraints:number_words", R"({"num_words": "3", "relation": "at least"})"),
      "accepted");
  EXPECT_NE(refused("keywords:existence", R"({"keywords": []})"), "accepted");
  EXPECT_NE(
      refused("keywords:frequency", R"({"keyword": "", "frequency": 1, "relation": "at least"})"),
      "accepted");
  EXPECT_NE(refused("startend:end_checker", "{}"), "accepted");
  EXPECT_NE(refused("punctuation:no_comma", "{}, {}"), "accepted");
  EXPECT_EQ(refused("punctuation:no_comma", "{}"), "accepted");
}

}  // namespace
}  // namespace rollcall::reward
