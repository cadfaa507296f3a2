// Rendering, tokens of stretches, and what of a conversation is learnt.
#include "text/chat/prompt_format.hpp"

#include "base/error.hpp"
#include "base/faults.hpp"
#include "base/file.hpp"
#include "base/hash.hpp"
#include "base/joined.hpp"
#include "base/json.hpp"
#include "base/nearest.hpp"
#include "text/answer/answer_text.hpp"
#include "text/chat/assistant_turns.hpp"
#include "text/chat/conversation.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <set>

namespace rollcall::text {
namespace {

using nlohmann::ordered_json;
constexpr std::string_view kPlace = "{prompt}";

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

/// Adds the tokens of text[from..to) to `tokens`, which are those of what stands before: as they
/// are within the text where they are told apart there.
void append_stretch(const Tokenizer& tokenizer, std::string_view text, std::size_t from,
                    std::size_t to, std::vector<std::int32_t>& tokens) {
  const auto before = tokenizer.encode(text.substr(0, from)),
             with = tokenizer.encode(text.substr(0, to));
  if (with.size() >= before.size() && std::equal(before.begin(), before.end(), with.begin())) {
    tokens.insert(tokens.end(), with.begin() + std::ptrdiff_t(before.size()), with.end());
    return;
  }
  // a token reaches over the border: an answer is sampled from the border on
  const auto alone = tokenizer.encode(text.substr(from, to - from));
  tokens.insert(tokens.end(), alone.begin(), alone.end());
}

/// Content that is text becomes one part.
void give_part(Message& said) {
  const auto content = said.find("content");
  if (content != said.end() && content->is_string())
    *content = ordered_json::array({{{"type", "text"}, {"text", *content}}});
}

/// Another value of the same type.
ordered_json other_than(const ordered_json& value) {
  if (value.is_boolean()) return !value.get<bool>();
  if (value.is_string()) return value.get<std::string>() + "x";
  if (value.is_number()) return value.get<double>() + 1.0;
  return value.is_array() ? ordered_json::array() : ordered_json::object();
}

/// Names that a template may read: all of its words.
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

ordered_json value_of(const std::string& text) {
  auto value = ordered_json::parse(text, nullptr, false);
  return value.is_discarded() ? ordered_json(text) : value;
}

}  // namespace

PromptFormat::PromptFormat(const TextSection& section, const std::filesystem::path& folder)
    : PromptFormat(section, files_of(section, folder),
                   folder.empty() ? "the built-in tokenizer" : folder.string()) {}

PromptFormat::PromptFormat(const TextSection& section, TextFiles files, const std::string& origin)
    : section_(section), files_(std::move(files)) {
  const auto built_in = tokenizer_names();
  const std::string name = files_.tokenizer->name();
  section_.tokenizer =
      std::find(built_in.begin(), built_in.end(), name) != built_in.end() ? name : "model";
  if (files_.end_tokens.empty()) files_.end_tokens.push_back(files_.tokenizer->eos());
  for (const auto token : files_.end_tokens) {
    const std::string text =
        files_.tokenizer->decode(std::span(&token, 1), Tokenizer::Special::keep);
    if (!text.empty() && files_.tokenizer->encode(text) == std::vector{token})
      end_texts_.push_back(text);
  }
  choose_template(origin);
  if (template_) find_answer_marks();
}

void PromptFormat::choose_template(const std::string& origin) {
  std::string& choice = section_.chat_template;
  if (choice == "auto") choice = files_.chat_template.empty() ? "none" : "model";
  require<ConfigError>(choice != "model" || !files_.chat_template.empty(),
                       fmt::format("text.template is model, and {} has no chat template", origin),
                       "prompts could not be formatted as its makers intended",
                       "name a .jinja file, or set text.template to none");
  if (choice == "model") {
    template_.emplace(files_.chat_template, origin + ", chat template");
    if (!files_.tool_template.empty() && files_.tool_template != files_.chat_template)
      tool_template_.emplace(files_.tool_template, origin + ", chat template for tools");
  } else if (choice != "none")
    files_.chat_template = read_file(choice), template_.emplace(files_.chat_template, choice);
  require<ConfigError>(template_ || (section_.system.empty() && section_.variables.empty()),
                       fmt::format("text.{} is set, but prompts have no chat template",
                                   section_.system.empty() ? "variables" : "system"),
                       "there is nowhere to put it",
                       "set text.template to model or to a .jinja file");
}

std::string PromptFormat::unread_variable() const {
  const auto words = words_of(files_.chat_template + " " + files_.tool_template);
  for (const auto& [name, value] : section_.variables) {
    if (std::binary_search(words.begin(), words.end(), name)) continue;
    const std::string nearest = nearest_name(name, words);
    return error_message(
        fmt::format("text.variables.{} is set, and the chat template does not mention it", name),
        "nothing would read it",
        is_near(name, nearest) ? fmt::format("did you mean {}?", nearest) : "leave it out");
  }
  return {};
}

void PromptFormat::find_answer_marks() {
  constexpr std::string_view kQuestion = "Really?", kAnswer = "Yes";
  const auto shows_both = [&] {
    Conversation talk = asking(kQuestion);
    const std::string words = talk.messages.front()["content"];
    talk.messages.push_back(message("assistant", kAnswer));
    try {
      const std::string text = render(talk, Turn::complete);
      const std::size_t asked = text.find(words);
      return asked != std::string::npos &&
             text.find(kAnswer, asked + words.size()) != std::string::npos;
    } catch (const InputError&) {
      return false;
    }
  };
  // Templates of models that see images may read content as parts alone.
  if (!shows_both()) reads_parts_ = true, reads_parts_ = shows_both();
  Conversation talk = asking(kQuestion);
  const std::string question = render(talk, Turn::complete), open = render(talk, Turn::open);
  if (open.starts_with(question)) answer_begin_ = open.substr(question.size());
  talk.messages.push_back(message("assistant", kAnswer));
  const std::string text = render(talk, Turn::complete);
  const std::size_t at = text.rfind(kAnswer);
  require(at != std::string::npos, "the chat template leaves out what the assistant says",
          "it is of no use for a model that answers", "name another one in text.template");
  const Closing close = closing(text, at + kAnswer.size(), text.size(), true);
  if (close.begin == close.end) return;
  answer_end_ = text.substr(at + kAnswer.size(), close.end - at - kAnswer.size());
  const std::string end = text.substr(close.begin, close.end - close.begin);
  if (std::find(end_texts_.begin(), end_texts_.end(), end) != end_texts_.end()) return;
  unknown_end_ = end, turn_end_ = files_.tokenizer->encode(end).at(0);
}

std::string PromptFormat::missing_end(const std::vector<std::string>& stops) const {
  if (unknown_end_.empty() || std::any_of(stops.begin(), stops.end(), [&](const auto& stop) {
        return unknown_end_.find(stop) != std::string::npos;
      }))
    return {};
  return fmt::format(
      "the chat template ends an answer with {0}, which is none of the model's end tokens ({1}), so that sampling would go on behind it: set "
      "sampling.stop=[\"{0}\"], or name its id ({2}) under eos_token_id in generation_config.json",
      unknown_end_, joined(end_texts_, ", "), *turn_end_);
}

std::string PromptFormat::special_at(std::string_view text) const {
  constexpr std::size_t kLongest = 64;  // bytes of a special token's name
  const auto tokens = files_.tokenizer->encode(text.substr(0, kLongest));
  if (tokens.empty() || !files_.tokenizer->decode(std::span(tokens).first(1)).empty()) return {};
  std::string spelt =
      files_.tokenizer->decode(std::span(tokens).first(1), Tokenizer::Special::spelt);
  return !spelt.empty() && text.starts_with(spelt) ? spelt : std::string();
}

PromptFormat::Closing PromptFormat::closing(std::string_view text, std::size_t from, std::size_t to,
                                            bool any_special) const {
  const std::size_t next = std::min(text.find_first_not_of(" \t\r\n", from), text.size());
  const bool is_open = from == to;  // nobody knows where the next turn begins
  if (is_open) to = text.size();
  Closing first{to, to};
  const auto consider = [&](const std::string& end) {
    const std::size_t at = text.find(end, from);
    if (at < first.begin && at + end.size() <= to && (at == next || !is_open))
      first = {at, at + end.size()};
  };
  for (const auto& end : end_texts_) consider(end);
  if (!unknown_end_.empty())
    consider(unknown_end_);  // the template's own, found before any turn
                             // is looked for
  if (first.begin < first.end || !any_special || next >= to) return first;
  const std::string special = special_at(text.substr(next));
  return special.empty() || answer_begin_.starts_with(special)
             ? first
             : Closing{next, next + special.size()};
}

ordered_json PromptFormat::variables(const Conversation& conversation, Turn turn) const {
  ordered_json all{{"messages", ordered_json::array()},
                   {"tools", nullptr},
                   {"documents", nullptr},
                   {"add_generation_prompt", turn == Turn::open}};
  const auto& messages = conversation.messages;
  const bool own_system = !messages.empty() && is_said_by(messages.front(), "system");
  if (!own_system && !section_.system.empty())
    all["messages"].push_back(message("system", section_.system));
  for (const auto& said : messages) all["messages"].push_back(said);
  if (reads_parts_)
    for (auto& said : all["messages"]) give_part(said);
  for (const auto& [name, token] : files_.special_tokens) all[name] = token;
  for (const auto& [name, value] : section_.variables) all[name] = value_of(value);
  for (const auto& [name, value] : conversation.variables.items()) all[name] = value;
  return all;
}

std::string PromptFormat::render(const Conversation& conversation, Turn turn) const {
  require(template_.has_value(), "a conversation was given, but there is no chat template",
          "how its messages become one text is not known",
          "set text.template to model or to a .jinja file");
  const auto tools = conversation.variables.find("tools");
  const bool has_tools =
      tool_template_ && tools != conversation.variables.end() && !tools->is_null();
  return (has_tools ? *tool_template_ : *template_).render(variables(conversation, turn));
}

bool PromptFormat::reads_clock() const {
  return template_ && template_->reads_clock(variables(asking("What is asked"), Turn::open));
}

std::string PromptFormat::asked(std::string_view prompt) const {
  std::string text = section_.user;
  if (is_chat()) prompt = trim(prompt);
  for (std::size_t at = text.find(kPlace); at != std::string::npos;
       at = text.find(kPlace, at + prompt.size()))
    text.replace(at, kPlace.size(), prompt);
  return text;
}

Conversation PromptFormat::asking(std::string_view prompt) const {
  return {{message("user", asked(prompt))}};
}

std::string PromptFormat::prompt_text(std::string_view prompt, std::string_view opening) const {
  return ((is_chat() ? render(asking(prompt), Turn::open) : asked(prompt)) +
          section_.assistant_prefix)
      .append(opening);
}

std::vector<std::int32_t> PromptFormat::prompt_tokens(std::string_view prompt,
                                                      std::string_view opening) const {
  const std::string text = prompt_text(prompt, opening);
  // a template writes its special tokens itself
  return is_chat() ? files_.tokenizer->encode(text) : files_.tokenizer->encode_sequence(text);
}

Supervised PromptFormat::supervised(std::string_view prompt, std::string_view solution,
                                    std::string_view opening) const {
  const Tokenizer& tokenizer = *files_.tokenizer;
  const std::string before = prompt_text(prompt, opening),
                    text = before + std::string(solution) + answer_end_;
  Supervised example{is_chat() ? tokenizer.encode(before) : tokenizer.encode_sequence(before), {}};
  const auto begin = std::int64_t(example.tokens.size());
  append_stretch(tokenizer, text, before.size(), text.size(), example.tokens);
  if (answer_end_.empty()) example.tokens.push_back(tokenizer.eos());
  example.learnt.emplace_back(begin, std::int64_t(example.tokens.size()));
  return example;
}

std::span<const std::int32_t> PromptFormat::spoken(std::span<const std::int32_t> tokens) const {
  if (tokens.empty()) return tokens;
  const auto& ends = files_.end_tokens;
  const bool ended = tokens.back() == turn_end_ ||
                     std::find(ends.begin(), ends.end(), tokens.back()) != ends.end();
  return ended ? tokens.first(tokens.size() - 1) : tokens;
}

std::string PromptFormat::answer_text(std::span<const std::int32_t> tokens) const {
  return files_.tokenizer->decode(spoken(tokens), Tokenizer::Special::spelt);
}

std::vector<std::int32_t> PromptFormat::chat_tokens(const Conversation& conversation) const {
  return files_.tokenizer->encode(render(conversation, Turn::open) + section_.assistant_prefix);
}

std::vector<std::int32_t> PromptFormat::conversation_tokens(
    const Conversation& conversation) const {
  return files_.tokenizer->encode(render(conversation, Turn::complete));
}

/// Every answer of text begins with text.assistant_prefix.
Conversation PromptFormat::with_prefix(Conversation conversation) const {
  const std::string& prefix = section_.assistant_prefix;
  for (auto& said : conversation.messages) {
    const auto content = said.find("content");
    if (prefix.empty() || !is_said_by(said, "assistant") || content == said.end() ||
        !content->is_string())
      continue;
    auto& words = content->get_ref<std::string&>();
    const std::string_view own = trim(words);
    if (!own.empty() && !own.starts_with(prefix)) words.insert(0, prefix);
  }
  return conversation;
}

Supervised PromptFormat::supervised(const Conversation& given) const {
  const Conversation whole = with_prefix(given);
  const std::string text = render(whole, Turn::complete);
  const auto turns =
      assistant_turns(text, whole.messages, {answer_begin_, answer_end_},
                      [&](std::span<const Message> messages, bool open) {
                        return render({{messages.begin(), messages.end()}, whole.variables},
                                      open ? Turn::open : Turn::complete);
                      });
  Supervised example;
  // `apart`: what ends a turn begins there, and no token reaches over it.
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
    // Special tokens after the name of a function are the call's own, and those where the next
    // speaker's part begins are not the turn's.
    const bool is_open = turn.words == turn.tail,
               any_special = !answer_end_.empty() && (is_open || turn.end < turn.next);
    Closing close = closing(text, turn.words, turn.tail, any_special && turn.end == turn.words);
    if (close.begin == close.end && turn.end < turn.tail)
      close = closing(text, turn.end, turn.tail, any_special);
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

bool PromptFormat::reads(const Conversation& conversation, const std::string& key,
                         bool of_messages) const {
  const auto differs = [&](const Conversation& other) {
    return std::any_of(std::begin(kTurns), std::end(kTurns), [&](Turn turn) {
      return render(other, turn) != render(conversation, turn);
    });
  };
  Conversation without = conversation, changed = conversation;
  const auto change = [&](Message& erased, Message& replaced) {
    const auto value = replaced.find(key);
    if (value == replaced.end()) return;
    // Of equal thoughts by several names, any one is shown in place of the others.
    if (of_messages &&
        std::find(std::begin(kThoughtKeys), std::end(kThoughtKeys), key) != std::end(kThoughtKeys))
      for (const char* name : kThoughtKeys)
        if (erased.contains(name) && erased[name] == *value) erased.erase(name);
    erased.erase(key);
    *value = other_than(*value);
  };
  if (!of_messages) change(without.variables, changed.variables);
  else
    for (std::size_t i = 0; i < conversation.messages.size(); ++i)
      change(without.messages[i], changed.messages[i]);
  try {
    return differs(without) || differs(changed);
  } catch (const InputError&) {
    return true;  // the template does not do without it
  }
}

std::string PromptFormat::fingerprint() const {
  if (section_.tokenizer != "model" && !is_chat() && section_.user == kPlace &&
      section_.assistant_prefix.empty())
    return {};
  Sha256 digest;
  // lengths: no character moves to a neighbour
  const auto add = [&](const std::string& text) {
    digest.add(fmt::format("{} ", text.size())).add(text);
  };
  add(files_.tokenizer->fingerprint());
  add(is_chat() ? files_.chat_template : std::string());
  if (tool_template_) add(files_.tool_template);
  add(prompt_text("What is asked"));  // system message, variables, and the date where a template
                                      // writes one
  add(fmt::format("{}", fmt::join(files_.end_tokens, " ")));
  return digest.hex();
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
