// Renders conversations with known answers and messages, and compares the results.
#include "text/chat/turn_texts.hpp"

#include "base/errors/error.hpp"
#include "base/errors/visible.hpp"
#include "text/answer/answer_text.hpp"
#include "text/answer/fill.hpp"
#include "text/chat/thoughts.hpp"
#include "text/chat/tool_calls.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace rollcall::text {
namespace {

using Around = TurnTexts::Around;
using Shown = TurnTexts::Shown;
using Ending = ConversationText::Ending;

constexpr const char *kSaid = "Told once", *kSaidNext = "Told again";
/// Characters that templates trim, escape or read as tags.
constexpr const char* kEdges = "\n \"Told\" & <b>\\\n- c\n ";

/// The words of a message in the form that the template shows.
std::string shown_as(Shown shown, std::string_view said) {
  if (shown == Shown::trimmed) return std::string(trim(said));
  if (shown == Shown::as_it_is) return std::string(said);
  const std::string quoted =
      Message(said).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return quoted.substr(1, quoted.size() - 2);
}

/// The text of a call without arguments.
std::string written_call(CallForm form) {
  if (form == CallForm::llama) return R"({"name": "look", "parameters": {}})";
  if (form == CallForm::hermes)
    return "<tool_call>\n{\"name\": \"look\", \"arguments\": {}}\n</tool_call>";
  return "```json\n[{\"name\": \"look\", \"arguments\": {}}]\n```";
}

/// An answer as the policy samples it, and as the content of a message.
struct SampleAnswer {
  std::string sampled, content;
};

/// The texts that a template makes from a question, answers of the policy and messages of one role.
class Rendered {
 public:
  Rendered(const PromptFormat& format, std::string role, const std::string& tools)
      : format_(format), texts_(format.conversations()), role_(std::move(role)) {
    if (!tools.empty()) variables_["tools"] = parse_in_order(tools, "the list of tools");
    asked_ = text({}) + format.section().assistant_prefix;
    answers_ = sample_answers(!tools.empty());
  }

  /// Learns the texts around messages. Returns a description of the template's fault; empty if
  /// there is none.
  std::string learn(Around& around) const {
    around.end = format_.answer_ends().text();
    try {
      for (const SampleAnswer& answer : answers_)
        if (std::string fault = learn_after(answer, around); !fault.empty()) return fault;
      if (std::string fault = learn_form(around); !fault.empty()) return fault;
      for (const SampleAnswer& first : answers_)
        for (const SampleAnswer& second : answers_)
          if (std::string fault = compare_two(first, second, around); !fault.empty()) return fault;
    } catch (const InputError& error) {
      return fmt::format("refuses a message of role {} after an answer: {}", role_, error.what());
    }
    learn_joint(around);
    return {};
  }

 private:
  /// The text of the question and of the messages after it, up to the place where the policy
  /// speaks.
  std::string text(std::vector<Message> follows) const {
    Conversation talk{{message("user", "What is asked")}, variables_};
    for (Message& next : follows) talk.messages.push_back(std::move(next));
    return texts_.render(talk, Ending::open);
  }
  static Message answered(const SampleAnswer& answer) {
    return message("assistant", answer.content);
  }
  Message said(std::string_view words) const { return message(role_, words); }

  /// Words, words after a thought and, with tools, a call in their place.
  std::vector<SampleAnswer> sample_answers(bool has_tools) const {
    std::vector<std::string> spoken{"Yes: \"a\" & <b>\n- c"};
    if (has_tools) spoken.push_back(written_call(call_form(texts_)));
    const bool opened = ends_in_thought(asked_);
    const std::size_t tag = opened ? asked_.rfind("<think") : std::string::npos;
    const std::string given = opened ? asked_.substr(tag) : format_.section().assistant_prefix;
    const std::string close =
        opened && asked_.substr(tag).starts_with("<thinking>") ? "</thinking>" : "</think>";
    std::vector<SampleAnswer> all;
    const auto add = [&](const std::string& sampled) { all.push_back({sampled, given + sampled}); };
    for (const std::string& words : spoken) {
      if (!opened) add(words);
      add((opened ? "" : "<think>\n") + std::string(kThought) + "\n" + close + "\n\n" + words);
    }
    return all;
  }

  std::string learn_after(const SampleAnswer& answer, Around& around) const {
    const std::string shown = text({answered(answer), said(kSaid)}),
                      before = asked_ + answer.sampled;
    if (!shown.starts_with(before)) return rewritten(shown, before);
    std::string_view rest = std::string_view(shown).substr(before.size());
    if (!rest.starts_with(around.end))
      return fmt::format("ends an answer in another way when a message of role {} follows it",
                         role_);
    rest.remove_prefix(around.end.size());
    const std::size_t at = rest.find(kSaid);
    if (at == std::string_view::npos)
      return fmt::format("does not show a message of role {}", role_);
    const std::string_view after = rest.substr(at + std::string_view(kSaid).size());
    if (&answer == &answers_.front()) {
      around.before = rest.substr(0, at);
      around.after = after;
    } else if (rest.substr(0, at) != around.before || after != around.after) {
      return fmt::format("shows a message of role {} in different ways after different answers",
                         role_);
    }
    return {};
  }

  /// Learns the form in which the template shows words.
  std::string learn_form(Around& around) const {
    const SampleAnswer& answer = answers_.front();
    const std::string shown = text({answered(answer), said(kEdges)}),
                      before = asked_ + answer.sampled + around.end + around.before;
    for (const Shown form : {Shown::as_it_is, Shown::trimmed, Shown::json}) {
      around.shown = form;
      if (shown == before + shown_as(form, kEdges) + around.after) return {};
    }
    return fmt::format("shows what a message of role {} says in a form that is not known", role_);
  }

  std::string compare_two(const SampleAnswer& first, const SampleAnswer& second,
                          const Around& around) const {
    const std::string shown =
        text({answered(first), said(kSaid), answered(second), said(kSaidNext)});
    const auto turn = [&](const SampleAnswer& answer, const char* words) {
      return answer.sampled + around.end + around.before + shown_as(around.shown, words) +
             around.after;
    };
    const std::string expected =
        asked_ + turn(first, kSaid) + format_.section().assistant_prefix + turn(second, kSaidNext);
    return shown == expected ? std::string() : rewritten(shown, expected);
  }

  void learn_joint(Around& around) const {
    const SampleAnswer& answer = answers_.front();
    const std::string before = asked_ + answer.sampled + around.end + around.before + kSaid,
                      after = kSaidNext + around.after;
    try {
      const std::string shown = text({answered(answer), said(kSaid), said(kSaidNext)});
      if (shown.size() >= before.size() + after.size() && shown.starts_with(before) &&
          shown.ends_with(after))
        around.joint = shown.substr(before.size(), shown.size() - before.size() - after.size());
    } catch (const InputError&) {
      // The template takes one message at a time.
    }
  }

  /// The way in which an answer is shown differently from `expected`, the words that were said.
  std::string rewritten(std::string_view shown, std::string_view expected) const {
    const auto thoughts = [&](std::string_view text) {
      std::size_t count = 0;
      for (std::size_t at = text.find(kThought); at != std::string_view::npos;
           at = text.find(kThought, at + 1))
        ++count;
      return count;
    };
    const std::size_t from = std::size_t(
        std::mismatch(shown.begin(), shown.end(), expected.begin(), expected.end()).first -
        shown.begin());
    const std::string how = thoughts(shown) < thoughts(expected)
                                ? "it drops the thought"
                                : fmt::format("it shows \"{}\" where \"{}\" was before",
                                              visible(cut(shown.substr(from), 40)),
                                              visible(cut(expected.substr(from), 40)));
    return fmt::format(
        "shows what came before in another way when a message of role {} follows it: {}", role_,
        how);
  }

  static constexpr const char* kThought = "Thought of";
  const PromptFormat& format_;
  const ConversationText& texts_;
  std::string role_;
  Message variables_ = Message::object();
  std::string asked_;  ///< the text that the policy is given with the question
  std::vector<SampleAnswer> answers_;
};

std::string other_than(const std::string& role) { return role == "tool" ? "user" : "tool"; }

}  // namespace

void require_tools(const PromptFormat& format, const std::string& tools) {
  const std::string chosen = format.section().chat_template;
  Conversation talk{{message("user", "What is asked")}};
  talk.variables["tools"] = parse_in_order(tools, "the list of tools");
  require(format.is_chat() && format.conversations().reads(talk, "tools", false),
          fmt::format("text.template={} does not show tools", chosen),
          "the policy would not know which functions it may call",
          "name a text.template that shows tools, or choose another environment");
}

TurnTexts::TurnTexts(const PromptFormat& format, std::string role, const std::string& tools)
    : format_(&format), role_(std::move(role)) {
  if (!tools.empty()) require_tools(format, tools);
  const std::string& prefix = format.section().assistant_prefix;
  if (!format.is_chat()) {
    around_ = {.end = {}, .before = "\n", .after = "\n" + prefix, .joint = "\n"};
    return;
  }
  const std::string fault = Rendered(format, role_, tools).learn(around_);
  if (!fault.empty()) {
    Around others;
    const std::string other = other_than(role_);
    const bool other_works = Rendered(format, other, tools).learn(others).empty();
    throw InputError(
        error_message(fmt::format("text.template={} {}", format.section().chat_template, fault),
                      "the tokens that are trained would not be those that were sampled",
                      (other_works ? fmt::format("set environment.role={}", other)
                                   : std::string("change text.variables")) +
                          ", or name another text.template"));
  }
  const Tokenizer& tokenizer = *format.tokenizer();
  if (!around_.end.empty()) end_token_ = tokenizer.encode(around_.end).back();
  around_.after += prefix;
  const std::string tail = around_.before + kSaid + around_.after;
  require(tokenizer.decode(tokenizer.encode(tail), Tokenizer::Special::spelt) == tail,
          fmt::format("the tokenizer does not give back what text.template={} puts around a "
                      "message, \"{}\"",
                      format.section().chat_template, visible(cut(tail, 80))),
          "the policy would see another text than the template makes",
          "name another text.template, or a model with another tokenizer");
}

std::vector<std::int32_t> TurnTexts::between(std::span<const std::int32_t> turn,
                                             std::span<const Said> messages) const {
  const Tokenizer& tokenizer = *format_->tokenizer();
  const bool has_ended = end_token_ && !turn.empty() && turn.back() == *end_token_;
  std::string text = (has_ended ? std::string() : around_.end) + around_.before, said;
  for (const Said& message : messages) {
    expect(message.role == role_, "messages between turns have the role that was learnt");
    const bool is_first = &message == &messages.front();
    if (!around_.joint)
      said += (is_first ? "" : "\n") + without_special(tokenizer, std::string(message.text));
    else
      text += (is_first ? std::string() : *around_.joint) +
              shown_as(around_.shown, without_special(tokenizer, std::string(message.text)));
  }
  if (!around_.joint) text += shown_as(around_.shown, said);
  return tokenizer.encode(text + around_.after);
}

std::string TurnTexts::action_text(std::span<const std::int32_t> turn) const {
  return format_->answer_text(turn);
}

}  // namespace rollcall::text
