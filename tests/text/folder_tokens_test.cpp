// Tokens, variables and templates of folders that state them in many files, against what
// transformers' AutoTokenizer said (fixtures/folders.json).
#include "text/tokenizer/folder_tokens.hpp"

#include "base/errors/error.hpp"
#include "base/files/file.hpp"
#include "base/text/json.hpp"
#include "support/temporary_folder.hpp"
#include "text/chat/folder_template.hpp"
#include "text/tokenizer/text_files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

namespace rollcall::text {
namespace {

using Json = nlohmann::ordered_json;
using ::testing::HasSubstr;

struct Folder {
  rollcall::testing::TemporaryFolder folder;
  std::filesystem::path path() const { return folder.path(); }
  void write(const std::string& name, const Json& content) const {
    std::filesystem::create_directories((path() / name).parent_path());
    std::ofstream(path() / name) << (content.is_string() ? content.get<std::string>()
                                                         : content.dump());
  }
};

Json fixture() { return Json::parse(read_file(ROLLCALL_FOLDERS_FIXTURE)); }

const Json& files_of(const Json& cases, const std::string& name) {
  for (const auto& one : cases.at("folders"))
    if (one.at("name") == name) return one.at("files");
  throw std::out_of_range(name);
}

Json chosen(const FolderTemplate& found, bool tools) {
  try {
    return found.for_tools(tools);
  } catch (const InputError& e) {
    EXPECT_THAT(e.what(), HasSubstr("has no template \"default\""));
    return nullptr;
  }
}

void expect_as_transformers(const Json& one, const Json& texts) {
  SCOPED_TRACE(one.at("name").get<std::string>());
  const Folder folder;
  for (const auto& [name, content] : one.at("files").items()) folder.write(name, content);
  const auto tokenizer = read_folder_tokenizer(folder.path());
  for (std::size_t i = 0; i < texts.size(); ++i)
    EXPECT_EQ(tokenizer->encode(texts[i].get<std::string>()),
              one.at("ids")[i].get<std::vector<std::int32_t>>())
        << texts[i];
  for (std::int32_t id = 0; id < std::int32_t(one.at("decoded").size()); ++id)
    EXPECT_EQ(tokenizer->decode(std::span(&id, 1), Tokenizer::Special::skip),
              one.at("decoded")[std::size_t(id)].get<std::string>())
        << id;
  const FolderTemplate found = read_folder_template(folder.path());
  const auto variables = one.at("variables").get<std::map<std::string, std::string>>();
  EXPECT_EQ(found.special_tokens, variables);
  const Json templates =
      found.origin.empty() ? Json::array() : Json{chosen(found, false), chosen(found, true)};
  EXPECT_EQ(templates, one.at("templates"));
  if (!templates.empty() && templates[0].is_null()) return;  // prompts need the default
  EXPECT_EQ(read_text_files(folder.path()).special_tokens, variables);
}

TEST(FolderTokens, AreThoseOfTransformers) {
  const Json cases = fixture();
  ASSERT_GE(cases.at("folders").size(), 12U);
  for (const auto& one : cases.at("folders")) expect_as_transformers(one, cases.at("texts"));
}

struct Refusal {
  const char *file, *content, *fault;
};

TEST(FolderTokens, FaultsNameFileAndPlace) {
  const Json cases = fixture();
  for (const auto& [file, content, fault] : {
           Refusal{"tokenizer_config.json", R"({"sep_token": 3})",
                   "sep_token is neither a string nor an object"},
           {"tokenizer_config.json", R"({"eos_token": {"content": "<e>", "lstrip": "yes"}})",
            "eos_token.lstrip is neither true nor false"},
           {"tokenizer_config.json", R"({"added_tokens_decoder": {"x": {"content": "<e>"}}})",
            "added_tokens_decoder has \"x\" where an id belongs"},
           {"tokenizer_config.json", R"({"added_tokens_decoder": {"5": "<e>"}})",
            "added_tokens_decoder.5 is not an object with a string content"},
           {"tokenizer_config.json", R"({"added_tokens_decoder": []})",
            "added_tokens_decoder is not an object"},
           {"tokenizer_config.json", R"({"extra_special_tokens": 5})",
            "extra_special_tokens is neither a list of tokens nor an object of named ones"},
           {"tokenizer_config.json", R"({"extra_special_tokens": ["<e>", 7]})",
            "extra_special_tokens[1] is neither a string"},
           {"tokenizer_config.json", R"({"extra_special_tokens": {"k": []}})",
            "extra_special_tokens.k is neither a string"},
           {"tokenizer_config.json", R"({"split_special_tokens": 1})",
            "\"split_special_tokens\" is neither true nor false"},
           {"tokenizer_config.json", R"({"add_prefix_space": true})",
            "it puts no space before a text, and add_prefix_space beside it is true"},
           {"special_tokens_map.json", R"({"add_prefix_space": true})",
            "it puts no space before a text, and add_prefix_space beside it is true"},
           {"tokenizer_config.json", R"({"fast_tokenizer_files": ["tokenizer.4.0.0.json"]})",
            "names \"tokenizer.4.0.0.json\" in fast_tokenizer_files"},
           {"tokenizer_config.json", R"({"fast_tokenizer_files": "x"})",
            "fast_tokenizer_files is not a list of file names"},
           {"special_tokens_map.json", R"({"additional_special_tokens": [null]})",
            "special_tokens_map.json cannot be used: additional_special_tokens[0]"},
           {"special_tokens_map.json", "[",
            "special_tokens_map.json cannot be used: it is not a JSON object"},
           {"added_tokens.json", R"({"<e>": "5"})",
            "added_tokens.json cannot be used: \"<e>\" has no whole number as its id"},
           {"added_tokens.json", R"({"<e>": -1})", "\"<e>\" has no whole number as its id"},
       }) {
    const Folder folder;
    folder.write("tokenizer.json", files_of(cases, "a template").at("tokenizer.json"));
    folder.write(file, content);
    try {
      read_text_files(folder.path());
      ADD_FAILURE() << "accepted: " << content;
    } catch (const InputError& e) {
      EXPECT_THAT(e.what(), HasSubstr(fault));
    }
  }
}

TEST(FolderTokens, TwoTokensOfOneNormalizedTextAreNamed) {
  const Json cases = fixture();
  const Folder folder;
  Json file = files_of(cases, "normalized").at("tokenizer.json");
  folder.write("tokenizer.json", file);
  folder.write(
      "tokenizer_config.json",
      R"({"added_tokens_decoder": {"30": {"content": "<Q>", "normalized": true}, "31": {"content": "<q>", "normalized": true}}})");
  try {
    read_folder_tokenizer(folder.path());
    ADD_FAILURE() << "which of the two?";
  } catch (const InputError& e) {
    EXPECT_THAT(e.what(), HasSubstr("\"<Q>\" (id 18) and \"<q>\" (id 19)"));
    EXPECT_THAT(e.what(), HasSubstr("a normalized text spells both \"<q>\""));
  }
}

/// The class's end token need not be there; one that a file names has to.
TEST(FolderTokens, AnEndTokenOfTheClassMayBeMissing) {
  const Json cases = fixture();
  const Folder folder;
  folder.write("tokenizer.json", files_of(cases, "a template").at("tokenizer.json"));
  folder.write("config.json", R"({"model_type": "gpt2", "vocab_size": 17})");
  EXPECT_TRUE(read_text_files(folder.path()).end_tokens.empty());
  folder.write("config.json", R"({"model_type": "gpt2", "vocab_size": 17, "eos_token_id": 14})");
  EXPECT_EQ(read_text_files(folder.path()).end_tokens, (std::vector<std::int32_t>{14}));
}

TEST(FolderTokens, ATokenWithoutAnEmbeddingIsRefusedWhereATextHoldsIt) {
  const Json cases = fixture();
  const Folder folder;
  folder.write("tokenizer.json", files_of(cases, "a template").at("tokenizer.json"));
  folder.write("tokenizer_config.json", R"({"eos_token": "<e>", "pad_token": "<p>"})");
  folder.write("config.json", R"({"vocab_size": 17})");
  const TextFiles narrow = read_text_files(folder.path());
  EXPECT_EQ(narrow.tokenizer->vocab_size(), 17)
      << "the pad token needs no embedding while nobody says it";
  EXPECT_EQ(narrow.rows, 17);
  EXPECT_EQ(narrow.tokenizer->encode("a<e>"), (std::vector<std::int32_t>{0, 13}));
  try {
    narrow.tokenizer->encode("a<p>");
    ADD_FAILURE() << "the model has no row for it";
  } catch (const InputError& e) {
    EXPECT_THAT(e.what(), HasSubstr("a text holds \"<p>\", a token that"));
    EXPECT_THAT(e.what(), HasSubstr("the model has no embedding for its id 17"));
  }
  folder.write("config.json", R"({"vocab_size": 18})");
  EXPECT_EQ(read_text_files(folder.path()).tokenizer->encode("a<p>"),
            (std::vector<std::int32_t>{0, 17}));
  EXPECT_EQ(read_text_files(folder.path()).tokenizer->vocab_size(), 18);
}

TEST(FolderTokens, AnEndTokenWithoutAnEmbeddingEndsNothing) {
  const Json cases = fixture();
  const Folder folder;
  folder.write("tokenizer.json", files_of(cases, "a template").at("tokenizer.json"));
  folder.write("tokenizer_config.json", R"({"eos_token": "<end>"})");
  EXPECT_EQ(read_text_files(folder.path()).end_tokens, (std::vector<std::int32_t>{17}))
      << "how many embeddings there are is not known";
  folder.write("config.json", R"({"vocab_size": 17})");
  EXPECT_THROW(read_text_files(folder.path()), InputError);
  folder.write("config.json", R"({"vocab_size": 17, "eos_token_id": 14})");
  EXPECT_EQ(read_text_files(folder.path()).end_tokens, (std::vector<std::int32_t>{14}));
}

TEST(FolderTokens, OnlyWhatTheFilesChangeChangesTheFingerprint) {
  const Json cases = fixture();
  const Folder folder;
  folder.write("tokenizer.json",
               files_of(cases, "tokenizer.json's own named").at("tokenizer.json"));
  const std::string alone = read_tokenizer_json(folder.path() / "tokenizer.json")->fingerprint();
  const auto fingerprint = [&](const char* config) {
    folder.write("tokenizer_config.json", config);
    return read_folder_tokenizer(folder.path())->fingerprint();
  };
  EXPECT_EQ(fingerprint("{}"), alone);
  EXPECT_EQ(fingerprint(R"({"bos_token": "<s>", "add_prefix_space": false})"), alone);
  EXPECT_NE(fingerprint(R"({"bos_token": "<x>"})"), alone);
  EXPECT_NE(fingerprint(R"({"bos_token": "<x>"})"),
            fingerprint(R"({"bos_token": {"content": "<x>", "lstrip": true}})"));
  EXPECT_NE(fingerprint(R"({"split_special_tokens": true})"), alone);
  EXPECT_NE(fingerprint(R"({"tokenizer_class": "GPT2Tokenizer", "add_prefix_space": true})"),
            alone);
}

}  // namespace
}  // namespace rollcall::text
