// Template and special tokens of a model folder.
#include "text/chat/folder_template.hpp"

#include "base/errors/error.hpp"
#include "base/text/json.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

namespace rollcall::text {
namespace {

struct Folder {
  Folder() {
    std::string pattern = std::filesystem::temp_directory_path() / "rollcall_template_XXXXXX";
    path = mkdtemp(pattern.data());
  }
  ~Folder() { std::filesystem::remove_all(path); }
  void write(const char* name, const std::string& text) const {
    std::ofstream(path / name) << text;
  }
  std::filesystem::path path;
};

std::string message_of(const Folder& folder) {
  try {
    read_folder_template(folder.path);
    return "accepted";
  } catch (const InputError& e) {
    return e.what();
  }
}

TEST(FolderTemplate, TheFileComesBeforeTheConfig) {
  const Folder folder;
  EXPECT_EQ(read_folder_template(folder.path).origin, "");
  folder.write(
      "tokenizer_config.json",
      R"({"chat_template": "config", "bos_token": null, "eos_token": {"content": "</s>", "lstrip": false}, "pad_token": "<p>"})");
  EXPECT_EQ(read_folder_template(folder.path).chat_template, "config");
  folder.write("chat_template.jinja", "file");
  const auto found = read_folder_template(folder.path);
  EXPECT_EQ(found.for_tools(false), "file");
  EXPECT_EQ(found.for_tools(true), "file");
  folder.write(
      "tokenizer_config.json",
      R"({"chat_template": [{"name": "rag", "template": "x"}], "eos_token": "</s>", "pad_token": "<p>"})");
  EXPECT_EQ(read_folder_template(folder.path).chat_template, "file")
      << "the config's is not asked then";
  EXPECT_EQ(found.special_tokens,
            (std::map<std::string, std::string>{{"eos_token", "</s>"}, {"pad_token", "<p>"}}));
}

TEST(FolderTemplate, AListHasOneForTools) {
  const Folder folder;
  folder.write(
      "tokenizer_config.json",
      R"({"chat_template": [{"name": "default", "template": "plain"}, {"name": "tool_use", "template": "tools"}]})");
  EXPECT_EQ(read_folder_template(folder.path).for_tools(false), "plain");
  EXPECT_EQ(read_folder_template(folder.path).for_tools(true), "tools");
  folder.write("tokenizer_config.json",
               R"({"chat_template": [{"name": "default", "template": "plain"}]})");
  EXPECT_EQ(read_folder_template(folder.path).for_tools(true), "plain");
}

TEST(FolderTemplate, NobodyHasToUseTheDefault) {
  const Folder folder;
  folder.write(
      "tokenizer_config.json",
      R"({"chat_template": [{"name": "rag", "template": "x"}, {"name": "tool_use", "template": "tools"}]})");
  const auto found = read_folder_template(folder.path);
  EXPECT_EQ(found.for_tools(true), "tools");
  try {
    found.for_tools(false);
    ADD_FAILURE() << "there is none";
  } catch (const InputError& e) {
    EXPECT_NE(std::string(e.what()).find("has no template \"default\" (it has: rag, tool_use)"),
              std::string::npos)
        << e.what();
  }
  folder.write("tokenizer_config.json", R"({"chat_template": [{"name": "rag", "template": "x"}]})");
  try {
    read_folder_template(folder.path).for_tools(true);
    ADD_FAILURE() << "there is none";
  } catch (const InputError& e) {
    EXPECT_NE(
        std::string(e.what()).find("has no template \"default\" or \"tool_use\" (it has: rag)"),
        std::string::npos)
        << e.what();
  }
}

TEST(FolderTemplate, FilesBesideTheTemplateCountByTheirNames) {
  const Folder folder;
  std::filesystem::create_directory(folder.path / "additional_chat_templates");
  folder.write("additional_chat_templates/tool_use.jinja", "tools");
  folder.write("additional_chat_templates/notes.txt", "no template");
  folder.write("tokenizer_config.json", R"({"chat_template": "config"})");
  const auto alone = read_folder_template(folder.path);
  EXPECT_THROW(alone.for_tools(false), InputError) << "the config is not asked then";
  EXPECT_EQ(alone.origin, (folder.path / "additional_chat_templates").string())
      << "the only place that is there";
  folder.write("chat_template.jinja", "file");
  EXPECT_EQ(read_folder_template(folder.path).for_tools(false), "file");
  EXPECT_EQ(read_folder_template(folder.path).for_tools(true), "tools");
}

TEST(FolderTemplate, WrongFilesAreNamed) {
  const Folder folder;
  folder.write("tokenizer_config.json", "[");
  EXPECT_NE(
      message_of(folder).find("tokenizer_config.json cannot be used: it is not a JSON object"),
      std::string::npos);
  folder.write("tokenizer_config.json", R"({"eos_token": 3})");
  EXPECT_NE(message_of(folder).find("eos_token is neither"), std::string::npos);
  folder.write("tokenizer_config.json", R"({"chat_template": 3})");
  EXPECT_NE(message_of(folder).find("chat_template is neither"), std::string::npos);
  folder.write("tokenizer_config.json", R"({"chat_template": [1]})");
  EXPECT_NE(message_of(folder).find("an entry of chat_template"), std::string::npos);
}

TEST(FolderTemplate, TheInputsOwnTokensStay) {
  const auto variables = with_special_tokens(
      {{"bos_token", "mine"}}, {.special_tokens = {{"bos_token", "<s>"}, {"eos_token", "</s>"}}});
  EXPECT_EQ(variables.dump(), R"({"bos_token":"mine","eos_token":"</s>"})");
}

}  // namespace
}  // namespace rollcall::text
