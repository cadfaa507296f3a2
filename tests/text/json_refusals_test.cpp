// What is wrong with a tokenizer.json is said by name and place; what stands for nothing at all is
// refused too.
#include "base/errors/error.hpp"
#include "base/files/file.hpp"
#include "base/text/json.hpp"
#include "text/tokenizer/text_files.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rollcall::text {
namespace {

using Json = nlohmann::json;

/// A whole tokenizer of three tokens.
Json small() {
  return Json::parse(
      R"({"version": "1.0", "added_tokens": [{"id": 3, "content": "<s>", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true}],
    "normalizer": null, "pre_tokenizer": null, "post_processor": null, "decoder": null,
    "model": {"type": "BPE", "dropout": null, "unk_token": null, "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": [["a", "b"]]}})");
}

void expect_refused(const std::string& json, const std::string& fault) {
  try {
    parse_tokenizer_json(json, "broken.json");
    ADD_FAILURE() << "accepted a file with the fault: " << fault;
  } catch (const InputError& e) {
    EXPECT_THAT(e.what(), ::testing::HasSubstr("broken.json"));
    EXPECT_THAT(e.what(), ::testing::HasSubstr(fault));
  }
}

/// The small tokenizer with a value put at a JSON pointer.
void expect_refused(const char* pointer, const char* value, const std::string& fault) {
  Json json = small();
  json[Json::json_pointer(pointer)] = Json::parse(value);
  expect_refused(json.dump(), fault);
}

TEST(JsonRefusals, TheSmallOneIsWhole) {
  const auto tokenizer = parse_tokenizer_json(small().dump(), "small");
  EXPECT_EQ(tokenizer->encode("abba<s>"), (std::vector<std::int32_t>{2, 1, 0, 3}));
  EXPECT_EQ(tokenizer->vocab_size(), 4);
}

TEST(JsonRefusals, Documents) {
  expect_refused("", "not JSON");
  expect_refused("[1]", "not a JSON object");
  expect_refused("{\"a\": 1e999}", "not JSON");
  expect_refused("{\"a\": \"\xff\"}", "not JSON");
  expect_refused("{\"a\": 1, \"a\": 2}", "\"a\" stands twice");
  expect_refused(std::string(200'000, '['), "nested deeper than 100 levels");
  expect_refused("{}", "has no \"model\"");
  expect_refused("{\"model\": 3}", "model is not an object");
  expect_refused("/version", "\"2.0\"", "version is \"2.0\"");
}

TEST(JsonRefusals, Models) {
  for (const char* type : {"WordPiece", "Unigram", "WordLevel"}) {
    expect_refused("/model/type", fmt::format("\"{}\"", type).c_str(),
                   fmt::format("model.type is \"{}\", which is not supported", type));
  }
  expect_refused("/model/dropout", "0.1", "model.dropout is not zero");
  expect_refused("/model/unk_token", "\"<unk>\"",
                 "model.unk_token \"<unk>\" is not in model.vocab");
  expect_refused("/model/unk_token", "3", "model.unk_token is not a string");
  expect_refused("/model/fuse_unk", "3", "model.fuse_unk is neither true nor false");
  expect_refused("/model/vocab", "[[\"a\", -1.0]]", "model.vocab is not an object");
  expect_refused("/model/vocab/a", "\"x\"", "model.vocab[\"a\"] is not an id");
  expect_refused("/model/vocab/a", "-1", "model.vocab[\"a\"] is not an id");
  expect_refused("/model/vocab/a", "1.5", "model.vocab[\"a\"] is not an id");
  expect_refused("/model/vocab/a", "[]", "model.vocab[\"a\"] is not an id");
  expect_refused("/model/vocab/a", "16777216", "above the largest id");
  expect_refused("/model/vocab/a", "18446744073709551615", "above the largest id");
  expect_refused("/model/vocab/a", "1", "have one id, 1");
  expect_refused(R"({"model": {"vocab": {"a": 0, "a": 1}, "merges": []}})",
                 "\"a\" stands twice in model.vocab");
  expect_refused("/model/merges", "{}", "model.merges is not a list");
  expect_refused("/model/merges", "[[\"a\"]]", "model.merges[0] is not a pair");
  expect_refused("/model/merges", "[[\"a\", \"b\"], [\"a\", \"b\", \"c\"]]",
                 "model.merges[1] is not a pair");
  expect_refused("/model/merges", "[[\"a\", 1]]", "model.merges[0] is neither");
  expect_refused("/model/merges", "[\"a b\", \"ab\"]", "model.merges[1] is not two tokens");
  expect_refused("/model/merges", "[\"a c\"]", "model.merges[0] names \"c\"");
  expect_refused("/model/merges", "[\"b a\"]", "model.merges[0] names \"ba\"");
  expect_refused(R"({"model": {"type": "BPE", "merges": []}})", "model has no \"vocab\"");
  expect_refused(R"({"model": {"type": "BPE", "vocab": {}}})", "model has no \"merges\"");
}

TEST(JsonRefusals, Parts) {
  expect_refused("/normalizer", R"({"type": "Precompiled", "precompiled_charsmap": ""})",
                 "normalizer has the unsupported type \"Precompiled\"");
  expect_refused("/normalizer",
                 R"({"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Bert"}]})",
                 "normalizer.normalizers[1] has the unsupported type \"Bert\"");
  expect_refused("/normalizer", R"({"type": "Strip", "strip_left": true})",
                 "normalizer has no \"strip_right\"");
  expect_refused("/normalizer", R"({"type": "Replace", "pattern": "a", "content": ""})",
                 "normalizer.pattern is not an object");
  expect_refused("/normalizer", "3", "normalizer is not an object");
  expect_refused("/pre_tokenizer", R"({"type": "UnicodeScripts"})",
                 "pre_tokenizer has the unsupported type \"UnicodeScripts\"");
  expect_refused(
      "/pre_tokenizer",
      R"({"type": "Split", "pattern": {"Regex": "a("}, "behavior": "Isolated", "invert": false})",
      "pre_tokenizer.pattern.Regex has a regular expression that does not compile");
  expect_refused(
      "/pre_tokenizer",
      R"({"type": "Split", "pattern": {"Regex": "[a&&b]"}, "behavior": "Isolated", "invert": false})",
      "the intersection && of classes");
  expect_refused(
      "/pre_tokenizer",
      R"({"type": "Split", "pattern": {"Regex": "\\p{Runic}"}, "behavior": "Isolated", "invert": false})",
      "the property \\p{Runic}");
  expect_refused(
      "/pre_tokenizer",
      R"({"type": "Split", "pattern": {"String": "a"}, "behavior": "Isolate", "invert": false})",
      "did you mean Isolated?");
  expect_refused("/pre_tokenizer", R"({"type": "Metaspace", "replacement": "ab"})",
                 "pre_tokenizer.replacement is not one character");
  expect_refused("/pre_tokenizer", R"({"type": "FixedLength", "length": 0})", "has the length 0");
  expect_refused(
      "/post_processor",
      R"({"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}], "special_tokens": {"<s>": {"ids": [3]}}})",
      "without the sequence");
  expect_refused(
      "/post_processor",
      R"({"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<x>", "type_id": 0}}], "special_tokens": {}})",
      "post_processor.special_tokens has no \"<x>\"");
  expect_refused("/decoder", R"({"type": "CTC"})", "decoder has the unsupported type \"CTC\"");
  expect_refused("/decoder", R"({"type": "WordPiece"})",
                 "decoder has the unsupported type \"WordPiece\"");
  expect_refused("/added_tokens/0/special", "1",
                 "added_tokens[0].special is neither true nor false");
  expect_refused("/added_tokens/0/id", "-2", "added_tokens[0].id is not a whole number");
  expect_refused("/added_tokens/0", R"({"id": 3})", "added_tokens[0] has no \"content\"");
}

/// Each step makes ten of one: a hundred steps would fill any memory.
TEST(JsonRefusals, ReplacementsThatGrowWithoutEnd) {
  const std::string step =
      R"({"type": "Replace", "pattern": {"String": "a"}, "content": "aaaaaaaaaa"})";
  std::string steps = step;
  for (int i = 0; i < 20; ++i) steps += ", " + step;
  Json json = small();
  json["normalizer"] = Json::parse(R"({"type": "Sequence", "normalizers": [)" + steps + "]}");
  try {
    parse_tokenizer_json(json.dump(), "t.json")->encode("a");
    ADD_FAILURE() << "accepted";
  } catch (const InputError& e) {
    EXPECT_NE(std::string(e.what()).find("a Replace step makes more than"), std::string::npos)
        << e.what();
  }
}

/// Expressions that would take longer than anybody waits end with an error.
TEST(JsonRefusals, ExpressionsThatBacktrackWithoutEnd) {
  Json json = small();
  json["pre_tokenizer"] = Json::parse(
      R"({"type": "Split", "pattern": {"Regex": "(?:a+)+$b|(?:a|aa)+c"}, "behavior": "Isolated", "invert": false})");
  const auto tokenizer = parse_tokenizer_json(json.dump(), "slow.json");
  try {
    tokenizer->encode(std::string(5000, 'a') + "b");
    ADD_FAILURE() << "the expression came to an end";
  } catch (const InputError& e) {
    EXPECT_THAT(e.what(), ::testing::HasSubstr("gives up on a text of 5001 bytes"));
  }
}

}  // namespace
}  // namespace rollcall::text
