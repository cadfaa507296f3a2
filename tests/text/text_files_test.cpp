// The text side of a model folder: what is read from which file, and what is refused.
#include "text/tokenizer/text_files.hpp"

#include "base/errors/error.hpp"
#include "base/files/file.hpp"
#include "support/temporary_folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

namespace rollcall::text {
namespace {

const std::filesystem::path kFixtures = ROLLCALL_TOKENIZER_FIXTURES;

struct Folder {
  rollcall::testing::TemporaryFolder folder;
  Folder() {
    std::filesystem::copy_file(kFixtures / "roberta" / "tokenizer.json", path() / "tokenizer.json");
  }
  std::filesystem::path path() const { return folder.path(); }
  void write(const char* name, const std::string& text) const {
    std::ofstream(path() / name) << text;
  }
  void expect_refused(const std::string& fault) const {
    try {
      read_text_files(path());
      ADD_FAILURE() << "accepted: " << fault;
    } catch (const InputError& e) {
      EXPECT_THAT(e.what(), ::testing::HasSubstr(fault));
    }
  }
};

TEST(TextFiles, EverythingIsRead) {
  const Folder folder;
  folder.write(
      "tokenizer_config.json",
      R"({"bos_token": {"content": "<s>"}, "eos_token": "</s>", "pad_token": null, "chat_template": "one"})");
  folder.write(
      "generation_config.json",
      R"({"eos_token_id": [7, 1], "temperature": 0.6, "top_k": 20, "top_p": 1, "do_sample": true, "max_new_tokens": 64, "repetition_penalty": 1.1})");
  folder.write("config.json", R"({"eos_token_id": 9})");
  const TextFiles files = read_text_files(folder.path());
  EXPECT_EQ(files.special_tokens,
            (std::map<std::string, std::string>{{"bos_token", "<s>"}, {"eos_token", "</s>"}}));
  EXPECT_EQ(files.chat_template, "one");
  EXPECT_EQ(files.tokenizer->eos(), 1);
  EXPECT_EQ(files.end_tokens, (std::vector<std::int32_t>{1, 7, 9}));
  EXPECT_EQ(files.suggested.temperature, 0.6);
  EXPECT_EQ(files.suggested.top_p, 1.0);
  EXPECT_EQ(files.suggested.top_k, 20);
  EXPECT_EQ(files.suggested.max_new_tokens, 64);
  EXPECT_EQ(files.suggested.repetition_penalty, 1.1);
  EXPECT_EQ(files.suggested.do_sample, true);
}

TEST(TextFiles, TemplatesByPrecedence) {
  const Folder folder;
  EXPECT_EQ(read_text_files(folder.path()).chat_template, "");
  folder.write(
      "tokenizer_config.json",
      R"({"chat_template": [{"name": "tool_use", "template": "t"}, {"name": "default", "template": "d"}]})");
  EXPECT_EQ(read_text_files(folder.path()).chat_template, "d");
  folder.write("chat_template.jinja", "file");
  EXPECT_EQ(read_text_files(folder.path()).chat_template, "file");
}

TEST(TextFiles, WithoutAnEosTokenTheFirstIdEnds) {
  const Folder folder;
  EXPECT_THROW(read_text_files(folder.path()).tokenizer->eos(), InputError);
  folder.write("config.json", R"({"eos_token_id": [5, 6]})");
  EXPECT_EQ(read_text_files(folder.path()).tokenizer->eos(), 5);
  EXPECT_EQ(read_text_files(folder.path()).end_tokens, (std::vector<std::int32_t>{5, 6}));
}

TEST(TextFiles, EndTokensCanBeWrittenDown) {
  EXPECT_EQ(with_end_tokens("", {}), "");
  const std::string kept = R"({"top_k": 1, "eos_token_id": [7, 1]})",
                    one = R"({ "eos_token_id": 7 })";
  EXPECT_EQ(with_end_tokens(kept, {1, 7}), kept) << "nothing is missing";
  EXPECT_EQ(with_end_tokens(one, {7}), one);
  const Folder folder;
  folder.write("tokenizer_config.json", R"({"eos_token": "</s>"})");
  folder.write("config.json", R"({"eos_token_id": 9})");
  folder.write("generation_config.json", one);
  const auto ends = read_text_files(folder.path()).end_tokens;
  folder.write("config.json", "{}");
  folder.write("generation_config.json",
               with_end_tokens(R"({"eos_token_id": 7, "top_k": 3})", ends));
  EXPECT_EQ(read_text_files(folder.path()).end_tokens, ends) << "without config.json";
  EXPECT_EQ(read_text_files(folder.path()).suggested.top_k, 3);
}

TEST(TextFiles, FaultsAreNamed) {
  const Folder folder;
  EXPECT_TRUE(has_tokenizer(folder.path()));
  folder.write("tokenizer_config.json", "{");
  folder.expect_refused("tokenizer_config.json cannot be used: it is not a JSON object");
  folder.write("tokenizer_config.json", R"({"eos_token": 3})");
  folder.expect_refused("eos_token is neither a string nor an object");
  folder.write("tokenizer_config.json", R"({"eos_token": "<end>"})");
  folder.write("config.json", R"({"vocab_size": 9})");
  folder.expect_refused("has no token \"<end>\"");
  std::filesystem::remove(folder.path() / "config.json");
  folder.write("tokenizer_config.json", R"({"chat_template": [{"name": "rag", "template": "x"}]})");
  folder.expect_refused("has no template \"default\"");
  folder.write("tokenizer_config.json", std::string(3000, '['));
  folder.expect_refused("nested too deep");
  folder.write("tokenizer_config.json", "{}");
  folder.write("generation_config.json", std::string(3000, '['));
  folder.expect_refused("nested too deep");
  folder.write("generation_config.json", R"({"eos_token_id": "x"})");
  folder.expect_refused("generation_config.json cannot be used: \"eos_token_id\" is not an id");
  folder.write("generation_config.json", R"({"top_k": 0.5})");
  folder.expect_refused("\"top_k\" is not a whole number");
  folder.write("generation_config.json", "{}");
  std::filesystem::remove(folder.path() / "tokenizer.json");
  EXPECT_FALSE(has_tokenizer(folder.path()));
  folder.expect_refused("tokenizer.json");
}

}  // namespace
}  // namespace rollcall::text
