// rollcall chat: a conversation on standard input and output.
#include "app/commands.hpp"
#include "app/models/interactive_model.hpp"
#include "base/errors/visible.hpp"
#include "base/files/file.hpp"
#include "base/files/lines.hpp"
#include "task/task.hpp"
#include "text/answer/answer_text.hpp"
#include "text/chat/conversation.hpp"
#include "text/tokenizer/text_files.hpp"

#include <unistd.h>

#include <iostream>
#include <memory>

namespace rollcall::app {
namespace {

struct ChatFlags {
  std::string weights, system, numerics;
  std::vector<std::string> assignments;
  bool exact = false;
};

// For a model folder. The default of a run file is 64, which suits tasks.
constexpr const char* kLongestAnswer = "sampling.max_new_tokens=512";

text::Conversation beginning(const ChatFlags& flags) {
  if (flags.system.empty()) return {};
  return {{text::message("system", flags.system)}};
}

ExitCode chat(ChatFlags flags) {
  if (!flags.numerics.empty()) flags.assignments.push_back("run.numerics=" + flags.numerics);
  const InteractiveModel speaker = open_speaker(flags.weights, {kLongestAnswer}, flags.assignments);
  require<ConfigError>(
      speaker.format.is_chat(), flags.weights + " has no chat template",
      "the speakers' turns could not be told apart",
      "add one with --set text.template=FILE.jinja, or use rollcall generate, which continues a "
      "text");
  const bool terminal = ::isatty(STDIN_FILENO) == 1;
  const auto suggestion =
      text::differing_suggestion(speaker.format.files().suggested, speaker.config.sampling);
  if (terminal && !suggestion.empty())
    std::cerr << "generation_config.json suggests " << visible(suggestion)
              << "; --set sampling.KEY=VALUE changes what is used\n";
  if (terminal && task::has_environment(speaker.config))
    std::cerr << "the policy of this run talks with an environment; here you say what it would\n";
  auto talk = beginning(flags);
  std::uint64_t turn = 0;
  for (std::string line;;) {
    if (terminal) std::cout << "> " << std::flush;
    if (!next_line(std::cin, line)) break;
    if (text::trim(line) == "/exit") return ExitCode::done;
    if (text::trim(line).empty()) continue;
    talk.messages.push_back(text::message("user", line));
    const std::string answer = speaker.say(speaker.format.chat_tokens(talk), turn++, flags.exact);
    // A model of bytes may end within a character, but a template accepts only whole ones.
    talk.messages.push_back(text::message(
        "assistant", text::valid_utf8(speaker.format.section().assistant_prefix + answer)));
  }
  require_end_of_input();
  if (terminal) std::cout << std::endl;
  return ExitCode::done;
}

}  // namespace

void add_chat(Command program) {
  auto flags = std::make_shared<ChatFlags>();
  auto command = program.command(
      "chat",
      "talk with a model: a line in, an answer out, word by word; /exit or end of input quits");
  command
      .option("weights", flags->weights,
              "RUN, RUN@STEP, or the folder of a model or of an adapter, with a chat template")
      .required();
  command.option("--system", flags->system, "system message");
  add_numerics(command, flags->numerics);
  add_exact(command, flags->exact);
  command
      .option("--set", flags->assignments,
              "key=value, for example sampling.temperature=0; may be repeated")
      .repeated();
  command.runs([flags] { return chat(*flags); });
}

}  // namespace rollcall::app
