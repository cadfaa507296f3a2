// Turns prompts and conversations into tokens, and marks the tokens that are trained on.
#include "text/chat/prompt_format.hpp"

#include "base/errors/error.hpp"
#include "base/errors/faults.hpp"
#include "base/errors/nearest.hpp"
#include "base/files/file.hpp"
#include "base/numbers/hash.hpp"
#include "base/text/joined.hpp"
#include "text/answer/answer_text.hpp"
#include "text/chat/assistant_turns.hpp"
#include "text/chat/conversation.hpp"
#include "text/chat/prompt_conversation.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <set>

namespace rollcall::text {
namespace {

using Ending = ConversationText::Ending;
constexpr std::string_view kPlace = "{prompt}";  // in text.user, for the task's prompt

TextFiles files_of(const TextSection& section, const std::filesystem::path& folder) {
  const bool has_own = !folder.empty() && has_tokenizer(folder),
             built_in = section.tokenizer == "character" || section.tokenizer == "byte";
  require<ConfigError>(!built_in || !has_own,
                       fmt::format("text.tokenizer is {}, and {} holds a tokenizer.json",
                                   section.tokenizer, folder.string()),
                       "the model was trained with that one, and ids of another mean nothing to it",
                       "set text.tokenizer = \"model\", or leave it out");
  require<ConfigError>(
      section.tokenizer != "model" || has_own,
      folder.empty()
          ? std::string("text.tokenizer is model, but no model folder is named")
          : fmt::format("text.tokenizer is model, but {} holds no tokenizer.json", folder.string()),
      "there is no tokenizer to use",
      "set model.path to a folder with a tokenizer.json, or text.tokenizer to character or byte");
  if (has_own) return read_text_files(folder);
  TextFiles files;
  files.tokenizer = make_tokenizer(section.tokenizer == "auto" ? "character" : section.tokenizer);
  return files;
}

/// Adds the tokens of text[from..to) to `tokens`, which has the tokens of text[0..from). They are
/// taken from the tokens of text[0..to), unless one of these spans `from`.
void append_stretch(const Tokenizer& tokenizer, std::string_view text, std::size_t from,
                    std::size_t to, std::vector<std::int32_t>& tokens) {
  const auto before = tokenizer.encode(text.substr(0, from)),
             with = tokenizer.encode(text.substr(0, to));
  if (with.size() >= before.size() && std::equal(before.begin(), before.end(), with.begin())) {
    tokens.insert(tokens.end(), with.begin() + std::ptrdiff_t(before.size()), with.end());
    return;
  }
  // A token spans the border, but an answer is sampled from the border on.
  const auto alone = tokenizer.encode(text.substr(from, to - from));
  tokens.insert(tokens.end(), alone.begin(), alone.end());
}

/// The names that a template may read: all words in it, sorted.
std::vector<std::string> words_of(std::string_view source) {
  std::set<std::string> words;
  for (std::size_t at = 0; at < source.size();) {
    const auto ends = [&](char c) {
      return !std::isalnum(static_cast<unsigned char>(c)) && c != '_';
    };
    const auto end = std::size_t(
        std::find_if(source.begin() + std::ptrdiff_t(at), source.end(), ends) - source.begin());
    if (end > at) words.emplace(source.substr(at, end - at));
    at = end + 1;
  }
  return {words.begin(), words.end()};
}

/// Adds the tokenizer's eos if the files name no end token, and returns the files.
const TextFiles& with_some_end_token(TextFiles& files) {
  if (files.end_tokens.empty()) files.end_tokens.push_back(files.tokenizer->eos());
  return files;
}

/// Resolves text.template if it is auto, reads the template into `files` if it is a path, and
/// returns the section.
const TextSection& with_chosen_template(TextSection& section, TextFiles& files,
                                        const std::string& origin) {
  std::string& choice = section.chat_template;
  if (choice == "auto") choice = files.chat_template.empty() ? "none" : "model";
  require<ConfigError>(choice != "model" || !files.chat_template.empty(),
                       fmt::format("text.template is model, and {} has no chat template", origin),
                       "prompts could not be formatted as its makers intended",
                       "name a .jinja file, or set text.template to none");
  if (choice != "model" && choice != "none") files.chat_template = read_file(choice);
  require<ConfigError>(choice != "none" || (section.system.empty() && section.variables.empty()),
                       fmt::format("text.{} is set, but prompts have no chat template",
                                   section.system.empty() ? "variables" : "system"),
                       "there is nowhere to put it",
                       "set text.template to model or to a .jinja file");
  return section;
}

/// The text of text.user (`form`) with the task's prompt in its place.
std::string asked(const std::string& form, std::string_view prompt) {
  std::string text = form;
  for (std::size_t at = text.find(kPlace); at != std::string::npos;
       at = text.find(kPlace, at + prompt.size()))
    text.replace(at, kPlace.size(), prompt);
  return text;
}

/// The conversation with text.assistant_prefix before every answer that does not begin with it.
Conversation with_prefix(Conversation conversation, const std::string& prefix) {
  for (auto& said : conversation.messages) {
    const auto content = said.find("content");
    if (prefix.empty() || !is_said_by(said, "assistant") || content == said.end() ||
        !content->is_string())
      continue;
    auto& words = content->get_ref<std::string&>();
    const std::string_view said_words = trim(words);
    if (!said_words.empty() && !said_words.starts_with(prefix)) words.insert(0, prefix);
  }
  return conversation;
}

}  // namespace

PromptFormat::PromptFormat(const TextSection& section, const std::filesystem::path& folder,
                           const std::string& tools)
    : PromptFormat(section, files_of(section, folder),
                   folder.empty() ? "the built-in tokenizer" : folder.string(), tools) {}

PromptFormat::PromptFormat(const TextSection& section, TextFiles files, const std::string& origin,
                           const std::string& tools)
    : section_(section),
      files_(std::move(files)),
      ends_(with_some_end_token(files_)),
      texts_(with_chosen_template(section_, files_, origin), files_, origin),
      tools_(tools.empty() ? Message() : parse_in_order(tools, "the list of tools")) {
  const auto built_in = tokenizer_names();
  const std::string name = files_.tokenizer->name();
  section_.tokenizer =
      std::find(built_in.begin(), built_in.end(), name) != built_in.end() ? name : "model";
  if (is_chat()) learn_turns();
}

void PromptFormat::learn_turns() {
  constexpr std::string_view kQuestion = "Really?", kAnswer = "Yes";
  Conversation talk = asking(kQuestion);
  texts_.find_content_form(talk, kAnswer);
  const std::string question = texts_.render(talk, Ending::complete),
                    open = texts_.render(talk, Ending::open);
  talk.messages.push_back(message("assistant", kAnswer));
  ends_.learn(question, open, texts_.render(talk, Ending::complete), kAnswer);
}

bool PromptFormat::reads_clock() const { return texts_.reads_clock(asking("What is asked")); }

Conversation PromptFormat::asking(const Asked& prompt) const {
  Conversation conversation;
  if (prompt.conversation.empty()) {
    conversation.messages.push_back(message("user", asked(section_.user, trim(prompt.text))));
  } else {
    conversation = read_conversation(prompt.conversation);
    change_last(conversation,
                [&](std::string_view said) { return asked(section_.user, trim(said)); });
  }
  if (!tools_.is_null()) conversation.variables["tools"] = tools_;
  return conversation;
}

std::string PromptFormat::prompt_text(const Asked& prompt, std::string_view opening) const {
  return ((is_chat() ? texts_.render(asking(prompt), Ending::open)
                     : asked(section_.user, prompt.text)) +
          section_.assistant_prefix)
      .append(opening);
}

std::vector<std::int32_t> PromptFormat::prompt_tokens(const Asked& prompt,
                                                      std::string_view opening) const {
  const std::string text = prompt_text(prompt, opening);
  // A template writes its special tokens itself.
  return is_chat() ? files_.tokenizer->encode(text) : files_.tokenizer->encode_sequence(text);
}

Supervised PromptFormat::supervised(const Asked& prompt, std::string_view solution,
                                    std::string_view opening) const {
  const Tokenizer& tokenizer = *files_.tokenizer;
  const std::string before = prompt_text(prompt, opening),
                    text = before + std::string(solution) + ends_.text();
  Supervised example{is_chat() ? tokenizer.encode(before) : tokenizer.encode_sequence(before), {}};
  const auto begin = std::int64_t(example.tokens.size());
  append_stretch(tokenizer, text, before.size(), text.size(), example.tokens);
  if (ends_.text().empty()) example.tokens.push_back(tokenizer.eos());
  example.learnt.emplace_back(begin, std::int64_t(example.tokens.size()));
  return example;
}

std::string PromptFormat::answer_text(std::span<const std::int32_t> tokens) const {
  return files_.tokenizer->decode(ends_.spoken(tokens), Tokenizer::Special::spelt);
}

std::vector<std::int32_t> PromptFormat::chat_tokens(const Conversation& conversation) const {
  Conversation shown = conversation;
  if (!tools_.is_null() && !shown.variables.contains("tools")) shown.variables["tools"] = tools_;
  return files_.tokenizer->encode(texts_.render(shown, Ending::open) + section_.assistant_prefix);
}

std::vector<std::int32_t> PromptFormat::conversation_tokens(
    const Conversation& conversation) const {
  return files_.tokenizer->encode(texts_.render(conversation, Ending::complete));
}

Supervised PromptFormat::supervised(const Conversation& given) const {
  const Conversation whole = with_prefix(given, section_.assistant_prefix);
  const std::string text = texts_.render(whole, Ending::complete);
  const auto turns =
      assistant_turns(text, whole.messages, {ends_.head(), ends_.text()},
                      [&](std::span<const Message> messages, bool open) {
                        return texts_.render({{messages.begin(), messages.end()}, whole.variables},
                                             open ? Ending::open : Ending::complete);
                      });
  Supervised example;
  // The end of a turn begins at `apart`, and no token spans that place.
  std::size_t done = 0, apart = 0;
  const auto append = [&](std::size_t to) {
    append_stretch(*files_.tokenizer, std::string_view(text).substr(apart), done - apart,
                   to - apart, example.tokens);
    done = to;
  };
  for (const AssistantTurn& turn : turns) {
    std::size_t begin = turn.begin;
    const std::size_t prefix = section_.assistant_prefix.empty()
                                   ? std::string::npos
                                   : text.find(section_.assistant_prefix, begin);
    if (prefix < turn.words)
      begin = std::min(prefix + section_.assistant_prefix.size(), turn.words);
    // Special tokens after the name of a function belong to the call. Special tokens at the
    // beginning of the next speaker's part do not belong to the turn.
    const bool is_open = turn.words == turn.tail,
               any_special = !ends_.text().empty() && (is_open || turn.end < turn.next);
    AnswerEnds::Closing close =
        ends_.find(text, turn.words, turn.tail, any_special && turn.end == turn.words);
    if (close.begin == close.end && turn.end < turn.tail)
      close = ends_.find(text, turn.end, turn.tail, any_special);
    const bool is_closed = close.begin < close.end;
    append(std::max(begin, done));
    const auto first = std::int64_t(example.tokens.size());
    append(is_closed ? close.end : turn.end);
    if (is_closed) apart = close.begin;
    else if (&turn == &turns.back() && turn.message + 1 == whole.messages.size())
      example.tokens.push_back(files_.tokenizer->eos());
    example.learnt.emplace_back(first, std::int64_t(example.tokens.size()));
  }
  return example;
}

std::string PromptFormat::fingerprint() const {
  if (section_.tokenizer != "model" && !is_chat() && section_.user == kPlace &&
      section_.assistant_prefix.empty())
    return {};
  Sha256 digest;
  // A length before each string shows where it ends, so that no character can move from one string
  // to the next unnoticed.
  const auto add = [&](const std::string& text) {
    digest.add(fmt::format("{} ", text.size())).add(text);
  };
  add(files_.tokenizer->fingerprint());
  add(is_chat() ? files_.chat_template : std::string());
  if (texts_.has_tool_template()) add(files_.tool_template);
  // A prompt has the system message, the variables, and the date if the template writes it.
  add(prompt_text("What is asked"));
  add(fmt::format("{}", fmt::join(files_.end_tokens, " ")));
  return digest.hex();
}

std::string unread_variable(const PromptFormat& format) {
  const TextFiles& files = format.files();
  const auto words = words_of(files.chat_template + " " + files.tool_template);
  for (const auto& [name, value] : format.section().variables) {
    if (std::binary_search(words.begin(), words.end(), name)) continue;
    const std::string nearest = nearest_name(name, words);
    return error_message(
        fmt::format("text.variables.{} is set, and the chat template does not mention it", name),
        "nothing would read it",
        is_near(name, nearest) ? fmt::format("did you mean {}?", nearest) : "leave it out");
  }
  return {};
}

std::string differing_suggestion(const SuggestedSampling& suggested,
                                 const SamplingParams& sampling) {
  std::vector<std::string> parts;
  const auto compare = [&](const char* name, const auto& theirs, const auto& ours) {
    if (theirs && *theirs != ours)
      parts.push_back(fmt::format("{} {} (here {})", name, *theirs, ours));
  };
  if (suggested.do_sample == false && sampling.temperature != 0.0)
    parts.push_back(fmt::format("greedy answers (here temperature {})", sampling.temperature));
  if (suggested.do_sample != false)
    compare("temperature", suggested.temperature, sampling.temperature),
        compare("top_k", suggested.top_k, sampling.top_k),
        compare("top_p", suggested.top_p, sampling.top_p);
  compare("max_new_tokens", suggested.max_new_tokens, sampling.max_new_tokens);
  compare("repetition_penalty", suggested.repetition_penalty, 1.0);
  return fmt::format("{}", joined(parts, ", "));
}

}  // namespace rollcall::text
