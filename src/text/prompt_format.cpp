// Rendering, tokens of stretches, and what of a conversation is learnt.
#include "text/prompt_format.hpp"

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/hash.hpp"
#include "text/answer_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace rollcall::text {
namespace {

using nlohmann::ordered_json;
constexpr std::string_view kPlace = "{prompt}";

TextFiles files_of(const TextSection& section, const std::filesystem::path& folder) {
  const bool has_own = !folder.empty() && has_tokenizer(folder), built_in = section.tokenizer == "character" || section.tokenizer == "byte";
  require<ConfigError>(!built_in || !has_own, fmt::format("text.tokenizer is {}, and {} holds a tokenizer.json", section.tokenizer, folder.string()),
                       "the model was trained with that one, and ids of another mean nothing to it", "set text.tokenizer = \"model\", or leave it out");
  require<ConfigError>(section.tokenizer != "model" || has_own,
                       folder.empty() ? std::string("text.tokenizer is model, but no model folder is named")
                                      : fmt::format("text.tokenizer is model, but {} holds no tokenizer.json", folder.string()),
                       "there is no tokenizer to use", "set model.path to a folder with a tokenizer.json, or text.tokenizer to character or byte");
  if (has_own) return read_text_files(folder);
  TextFiles files;
  files.tokenizer = make_tokenizer(section.tokenizer == "auto" ? "character" : section.tokenizer);
  return files;
}

/// Adds the tokens of text[from..to) to `tokens`, which are those of what stands before: as they are within the text where they are told apart there.
void append_stretch(const Tokenizer& tokenizer, std::string_view text, std::size_t from, std::size_t to, std::vector<std::int32_t>& tokens) {
  const auto before = tokenizer.encode(text.substr(0, from)), with = tokenizer.encode(text.substr(0, to));
  if (with.size() >= before.size() && std::equal(before.begin(), before.end(), with.begin())) {
    tokens.insert(tokens.end(), with.begin() + std::ptrdiff_t(before.size()), with.end());
    return;
  }
  const auto alone = tokenizer.encode(text.substr(from, to - from));  // a token reaches over the border: an answer is sampled from the border on
  tokens.insert(tokens.end(), alone.begin(), alone.end());
}

std::size_t find_behind(std::string_view text, std::string_view part, std::size_t from) {
  const std::size_t at = from == std::string::npos ? from : text.find(part, from);
  return at == std::string::npos ? at : at + part.size();
}

ordered_json value_of(const std::string& text) {
  auto value = ordered_json::parse(text, nullptr, false);
  return value.is_discarded() ? ordered_json(text) : value;
}

}  // namespace

PromptFormat::PromptFormat(const TextSection& section, const std::filesystem::path& folder)
    : PromptFormat(section, files_of(section, folder), folder.empty() ? "the built-in tokenizer" : folder.string()) {}

PromptFormat::PromptFormat(const TextSection& section, TextFiles files, const std::string& origin) : section_(section), files_(std::move(files)) {
  const auto built_in = tokenizer_names();
  const std::string name = files_.tokenizer->name();
  section_.tokenizer = std::find(built_in.begin(), built_in.end(), name) != built_in.end() ? name : "model";
  if (files_.end_tokens.empty()) files_.end_tokens.push_back(files_.tokenizer->eos());
  for (const auto token : files_.end_tokens) {
    const std::string text = files_.tokenizer->decode(std::span(&token, 1), Tokenizer::Special::keep);
    if (!text.empty() && files_.tokenizer->encode(text) == std::vector{token}) end_texts_.push_back(text);
  }
  choose_template(origin);
  if (template_) find_answer_marks();
}

void PromptFormat::choose_template(const std::string& origin) {
  std::string& choice = section_.chat_template;
  if (choice == "auto") choice = files_.chat_template.empty() ? "none" : "model";
  require<ConfigError>(choice != "model" || !files_.chat_template.empty(), fmt::format("text.template is model, and {} has no chat template", origin),
                       "prompts could not be formatted as its makers intended", "name a .jinja file, or set text.template to none");
  if (choice == "model") template_.emplace(files_.chat_template, origin + ", chat template");
  else if (choice != "none") files_.chat_template = read_file(choice), template_.emplace(files_.chat_template, choice);
  require<ConfigError>(template_ || (section_.system.empty() && section_.variables.empty()),
                       fmt::format("text.{} is set, but prompts have no chat template", section_.system.empty() ? "variables" : "system"),
                       "there is nowhere to put it", "set text.template to model or to a .jinja file");
}

void PromptFormat::find_answer_marks() {
  constexpr std::string_view kAnswer = "Yes";
  std::vector<Message> messages = messages_of("Really?");
  const std::string question = render(messages, Turn::complete), open = render(messages, Turn::open);
  if (open.starts_with(question)) answer_begin_ = open.substr(question.size());
  messages.push_back({"assistant", std::string(kAnswer)});
  const std::string text = render(messages, Turn::complete);
  const std::size_t at = text.rfind(kAnswer);
  require(at != std::string::npos, "the chat template leaves out what the assistant says", "it is of no use for a model that answers",
          "name another one in text.template");
  const std::size_t behind = at + kAnswer.size();
  if (const auto end = end_token_at(text, behind); !end.empty()) answer_end_ = text.substr(behind, std::size_t(end.data() + end.size() - text.data()) - behind);
}

bool PromptFormat::has_end_token(std::string_view text) const {
  return std::any_of(end_texts_.begin(), end_texts_.end(), [&](const std::string& end) { return text.find(end) != std::string_view::npos; });
}

std::string_view PromptFormat::end_token_at(std::string_view text, std::size_t at) const {
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n", at), text.size()));
  for (const auto& end : end_texts_)
    if (text.starts_with(end)) return text.substr(0, end.size());
  return {};
}

ordered_json PromptFormat::variables(std::span<const Message> messages, Turn turn) const {
  ordered_json all{{"messages", ordered_json::array()}, {"tools", nullptr}, {"documents", nullptr}, {"add_generation_prompt", turn == Turn::open}};
  const bool own_system = !messages.empty() && messages.front().role == "system";
  if (!own_system && !section_.system.empty()) all["messages"].push_back({{"role", "system"}, {"content", section_.system}});
  for (const auto& message : messages) all["messages"].push_back({{"role", message.role}, {"content", message.content}});
  for (const auto& [name, token] : files_.special_tokens) all[name] = token;
  for (const auto& [name, value] : section_.variables) all[name] = value_of(value);
  return all;
}

std::string PromptFormat::render(std::span<const Message> messages, Turn turn) const {
  require(template_.has_value(), "a conversation was given, but there is no chat template", "how its messages become one text is not known",
          "set text.template to model or to a .jinja file");
  return template_->render(variables(messages, turn));
}

bool PromptFormat::reads_clock() const { return template_ && template_->reads_clock(variables(messages_of("What is asked"), Turn::open)); }

std::string PromptFormat::asked(std::string_view prompt) const {
  std::string text = section_.user;
  if (is_chat()) prompt = trim(prompt);
  for (std::size_t at = text.find(kPlace); at != std::string::npos; at = text.find(kPlace, at + prompt.size())) text.replace(at, kPlace.size(), prompt);
  return text;
}

std::vector<Message> PromptFormat::messages_of(std::string_view prompt) const { return {{"user", asked(prompt)}}; }

std::string PromptFormat::prompt_text(std::string_view prompt, std::string_view opening) const {
  return ((is_chat() ? render(messages_of(prompt), Turn::open) : asked(prompt)) + section_.assistant_prefix).append(opening);
}

std::vector<std::int32_t> PromptFormat::prompt_tokens(std::string_view prompt, std::string_view opening) const {
  const std::string text = prompt_text(prompt, opening);
  return is_chat() ? files_.tokenizer->encode(text) : files_.tokenizer->encode_sequence(text);  // a template writes its special tokens itself
}

Supervised PromptFormat::supervised(std::string_view prompt, std::string_view solution, std::string_view opening) const {
  const Tokenizer& tokenizer = *files_.tokenizer;
  const std::string before = prompt_text(prompt, opening), text = before + std::string(solution) + answer_end_;
  Supervised example{is_chat() ? tokenizer.encode(before) : tokenizer.encode_sequence(before), {}};
  const auto begin = std::int64_t(example.tokens.size());
  append_stretch(tokenizer, text, before.size(), text.size(), example.tokens);
  if (answer_end_.empty()) example.tokens.push_back(tokenizer.eos());
  example.learnt.emplace_back(begin, std::int64_t(example.tokens.size()));
  return example;
}

std::span<const std::int32_t> PromptFormat::spoken(std::span<const std::int32_t> tokens) const {
  const bool ended = !tokens.empty() && std::find(files_.end_tokens.begin(), files_.end_tokens.end(), tokens.back()) != files_.end_tokens.end();
  return ended ? tokens.first(tokens.size() - 1) : tokens;
}

std::string PromptFormat::answer_text(std::span<const std::int32_t> tokens) const { return files_.tokenizer->decode(spoken(tokens)); }

std::vector<std::int32_t> PromptFormat::chat_tokens(std::span<const Message> messages) const {
  return files_.tokenizer->encode(render(messages, Turn::open) + section_.assistant_prefix);
}

std::vector<std::int32_t> PromptFormat::conversation_tokens(std::span<const Message> messages) const {
  return files_.tokenizer->encode(render(messages, Turn::complete));
}

PromptFormat::Answer PromptFormat::find_answer(std::string_view text, std::span<const Message> messages, std::size_t i, std::size_t done) const {
  // What the assistant is given before it speaks is what stands before its words here; where the template shows a past turn otherwise, they are looked
  // for behind the message before them.
  const std::string before = render(messages.first(i), Turn::open);
  const bool as_given = before.size() >= done && text.starts_with(before);
  std::size_t begin = before.size();
  if (!as_given) begin = find_behind(text, answer_begin_, i == 0 ? done : find_behind(text, trim(messages[i - 1].content), done));
  const std::string_view words = trim(messages[i].content), prefix = section_.assistant_prefix;
  const std::size_t at = words.empty() || begin == std::string::npos ? std::string::npos : text.find(words, begin);
  const bool is_marked = as_given || !answer_begin_.empty();  // an end token behind the mark is this turn's: what follows it is said by others
  const bool is_there = at != std::string::npos && !(is_marked && has_end_token(text.substr(begin, at - begin)));
  require(is_there, fmt::format("message {} of a conversation, \"{}\", is not in the text that the chat template makes of it", i + 1, words.substr(0, 40)),
          words.empty() ? "an empty answer teaches nothing" : "what is to be learnt could not be determined",
          "use another text.template, or shorter conversations");
  return {!prefix.empty() && words.starts_with(prefix) ? at + prefix.size() : begin, at + words.size()};
}

Supervised PromptFormat::supervised(std::span<const Message> given) const {
  std::vector<Message> messages(given.begin(), given.end());
  for (auto& message : messages)
    if (message.role == "assistant" && !trim(message.content).starts_with(section_.assistant_prefix)) message.content.insert(0, section_.assistant_prefix);
  const std::string text = render(messages, Turn::complete);
  Supervised example;
  std::size_t done = 0, apart = 0;  // `apart`: an end token begins there, and no token reaches over it
  const auto append = [&](std::size_t to) {
    append_stretch(*files_.tokenizer, std::string_view(text).substr(apart), done - apart, to - apart, example.tokens);
    done = to;
  };
  for (std::size_t i = 0; i < messages.size(); ++i) {
    if (messages[i].role != "assistant") continue;
    const Answer answer = find_answer(text, messages, i, done);
    const std::string_view end = end_token_at(text, answer.end);
    append(answer.begin);
    const auto first = std::int64_t(example.tokens.size());
    append(end.empty() ? answer.end : std::size_t(end.data() + end.size() - text.data()));
    if (!end.empty()) apart = done - end.size();
    else if (i + 1 == messages.size()) example.tokens.push_back(files_.tokenizer->eos());
    example.learnt.emplace_back(first, std::int64_t(example.tokens.size()));
  }
  return example;
}

std::string PromptFormat::fingerprint() const {
  if (section_.tokenizer != "model" && !is_chat() && section_.user == kPlace && section_.assistant_prefix.empty()) return {};
  Sha256 digest;
  const auto add = [&](const std::string& text) { digest.add(fmt::format("{} ", text.size())).add(text); };  // lengths: no character moves to a neighbour
  add(files_.tokenizer->fingerprint());
  add(is_chat() ? files_.chat_template : std::string());
  add(prompt_text("What is asked"));  // system message, variables, and the date where a template writes one
  add(fmt::format("{}", fmt::join(files_.end_tokens, " ")));
  return digest.hex();
}

std::string differing_suggestion(const SuggestedSampling& suggested, const SamplingParams& sampling) {
  std::vector<std::string> parts;
  const auto compare = [&](const char* name, const auto& theirs, const auto& ours) {
    if (theirs && *theirs != ours) parts.push_back(fmt::format("{} {} (here {})", name, *theirs, ours));
  };
  if (suggested.do_sample == false && sampling.temperature != 0.0) parts.push_back(fmt::format("greedy answers (here temperature {})", sampling.temperature));
  if (suggested.do_sample != false)
    compare("temperature", suggested.temperature, sampling.temperature), compare("top_k", suggested.top_k, sampling.top_k),
        compare("top_p", suggested.top_p, sampling.top_p);
  compare("max_new_tokens", suggested.max_new_tokens, sampling.max_new_tokens);
  compare("repetition_penalty", suggested.repetition_penalty, 1.0);
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace rollcall::text
