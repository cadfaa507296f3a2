// rollcall template: applies a chat template to a conversation, as the model will see it.
#include "app/commands.hpp"
#include "base/errors/visible.hpp"
#include "base/files/file.hpp"
#include "base/files/lines.hpp"
#include "base/text/json.hpp"
#include "text/chat/chat_template.hpp"
#include "text/chat/conversation.hpp"
#include "text/chat/folder_template.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <iostream>
#include <memory>

namespace rollcall::app {
namespace {

using Json = nlohmann::ordered_json;

Json read_variables() {
  const std::string input = read_all(std::cin);
  require_end_of_input();
  Json variables = text::parse_in_order(input, "standard input");
  require(variables.is_object(), "standard input is not a JSON object",
          "it names the template's variables",
          "pass {\"messages\": [{\"role\": \"user\", \"content\": \"...\"}], "
          "\"add_generation_prompt\": true}");
  return variables;
}

ExitCode render(const std::filesystem::path& path) {
  text::FolderTemplate found;
  if (std::filesystem::is_directory(path)) {
    found = text::read_folder_template(path);
    require(!found.origin.empty(), fmt::format("{} has no chat template", path.string()),
            "it has neither chat_template.jinja nor chat_template in tokenizer_config.json",
            "name a model folder, or a .jinja file");
  } else {
    found.chat_template = found.with_tools = read_file(path);
    found.origin = path.string();
  }
  const Json variables = text::with_special_tokens(read_variables(), found);
  const bool tools = variables.contains("tools") && !variables["tools"].is_null();
  std::cout << for_standard_output(
                   text::ChatTemplate(found.for_tools(tools), found.origin).render(variables))
            << std::flush;
  return ExitCode::done;
}

}  // namespace

void add_template(Command program) {
  auto command = program.command(
      "template",
      "render a conversation with a model's chat template: one JSON object in (messages, tools, "
      "any variable), the text out");
  auto path = std::make_shared<std::string>();
  command.option("template", *path, "a model folder, or a .jinja file").required();
  command.runs([path] { return render(*path); });
}

}  // namespace rollcall::app
