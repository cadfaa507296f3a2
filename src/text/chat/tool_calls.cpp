// Looks for call marks in a turn, and reads the text between them as JSON.
#include "text/chat/tool_calls.hpp"

#include "base/errors/error.hpp"
#include "base/errors/visible.hpp"
#include "base/text/foreign_json.hpp"
#include "base/text/joined.hpp"
#include "text/answer/answer_text.hpp"
#include "text/chat/conversation_text.hpp"
#include "text/chat/thoughts.hpp"
#include "text/tokenizer/text_stream.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace rollcall::text {
namespace {

using nlohmann::json;
using Names = std::vector<std::string>;

constexpr std::string_view kOpen = "<tool_call>", kClose = "</tool_call>", kFence = "```json",
                           kFenceEnd = "```", kPythonTag = "<|python_tag|>";

/// The key for the arguments of a call in a form.
const char* arguments_key(CallForm form) {
  return form == CallForm::llama ? "parameters" : "arguments";
}

/// A member of an object with its key, or an element of a list, as it is in the text.
struct Part {
  std::string_view key, value;
};

/// The parts of an object or a list, which is known to be JSON.
std::vector<Part> parts_of(std::string_view text) {
  std::vector<Part> parts;
  Part part;
  std::size_t begin = 1;
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 1; i < text.size(); ++i) {
    const char c = text[i];
    const bool closes = c == '}' || c == ']';
    if (quoted) {
      if (c == '\\') ++i;
      else quoted = c != '"';
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if (c == ':' && depth == 0) {
      part.key = trim(text.substr(begin, i - begin));
      begin = i + 1;
    } else if (depth == 0 && (closes || c == ',')) {
      part.value = trim(text.substr(begin, i - begin));
      if (!part.value.empty()) parts.push_back(std::exchange(part, {}));
      begin = i + 1;
    } else if (closes) {
      --depth;
    }
  }
  return parts;
}

/// Reads the text of one call, and appends it. Returns a description of its fault; empty if there
/// is none.
std::string read_call(CallForm form, std::string_view text, const Names& names,
                      std::vector<ToolCall>& calls) {
  const std::string key = arguments_key(form);
  std::string fault;
  const json call = parse_foreign<json>(text, fault);
  if (fault.empty() && !trim(text).starts_with('{')) fault = "it does not begin with {";
  if (!fault.empty()) return "a call cannot be read: " + fault;
  for (const auto& [member, value] : call.items())
    if (member != "name" && member != key)
      return fmt::format("a call has the key \"{}\", and its keys are name and {}", brief(member),
                         key);
  if (!call.contains("name") || !call["name"].is_string())
    return "a call has no name, which is a string";
  if (!call.contains(key) || !call[key].is_object())
    return fmt::format("a call has no {}, which are a JSON object", key);
  const std::string name = call["name"];
  if (std::find(names.begin(), names.end(), name) == names.end())
    return fmt::format("there is no tool \"{}\"; the tools are {}", brief(name),
                       joined(names, ", "));
  for (const Part& part : parts_of(trim(text)))
    if (json::parse(part.key) == key) calls.push_back({name, std::string(part.value)});
  return {};
}

/// A list of calls between the marks of a fence.
std::string read_list(CallForm form, std::string_view text, const Names& names,
                      std::vector<ToolCall>& calls) {
  std::string fault;
  const json list = parse_foreign_value<json>(text, fault);
  if (!fault.empty()) return "a list of calls cannot be read: " + fault;
  if (!list.is_array() || !trim(text).starts_with('['))
    return "calls are a JSON list, also where there is one";
  for (const Part& part : parts_of(trim(text)))
    if (fault = read_call(form, part.value, names, calls); !fault.empty()) return fault;
  return {};
}

/// Reads everything between `open` and `close`. The rest is spoken.
template <class Read>
ToolCalls between_marks(std::string_view turn, std::string_view open, std::string_view close,
                        const Read& read) {
  ToolCalls found;
  for (std::size_t at = 0;;) {
    const std::size_t begin = turn.find(open, at);
    const std::string_view said = turn.substr(at, std::min(begin, turn.size()) - at);
    if (open != kFence && said.find(close) != std::string_view::npos)
      found.fault = fmt::format("{} stands without {} before it", close, open);
    found.spoken += said;
    if (begin == std::string_view::npos || !found.fault.empty()) return found;
    const std::size_t inside = begin + open.size(), end = turn.find(close, inside);
    if (end == std::string_view::npos) {
      found.fault = fmt::format("a call begins with {} and does not end with {}", open, close);
      return found;
    }
    found.fault = read(turn.substr(inside, end - inside), found.calls);
    if (!found.fault.empty()) return found;
    at = end + close.size();
  }
}

/// A turn that is one call and nothing else, or no call.
ToolCalls whole_turn(std::string_view turn, const Names& names) {
  ToolCalls found;
  std::string_view call = trim(turn);
  const bool tagged = call.starts_with(kPythonTag);
  if (tagged) call = trim(call.substr(kPythonTag.size()));
  const bool is_object = call.starts_with('{') && trim(call.substr(1)).starts_with('"');
  if (!tagged && !is_object) {
    found.spoken = turn;
    return found;
  }
  found.fault = read_call(CallForm::llama, call, names, found.calls);
  return found;
}

/// Whether a turn of form `llama` may be a call from here on, if no more than a thought and white
/// space is before it.
bool may_be_whole(std::string_view rest) {
  return rest.starts_with('{') || rest.starts_with(kPythonTag) || kPythonTag.starts_with(rest);
}

}  // namespace

ToolCalls parse_calls(CallForm form, std::string_view turn, const std::vector<std::string>& names) {
  std::string storage;
  const std::string_view said = without_thoughts(turn, storage);
  ToolCalls found;
  if (form == CallForm::llama) found = whole_turn(said, names);
  else if (form == CallForm::hermes)
    found = between_marks(said, kOpen, kClose,
                          [&](std::string_view text, std::vector<ToolCall>& calls) {
                            return read_call(form, text, names, calls);
                          });
  else
    found = between_marks(said, kFence, kFenceEnd,
                          [&](std::string_view text, std::vector<ToolCall>& calls) {
                            return read_list(form, text, names, calls);
                          });
  found.spoken = std::string(trim(found.spoken));
  if (!found.fault.empty()) found.calls.clear();
  return found;
}

std::string call_opening(CallForm form, const std::string& name) {
  std::string opening = form == CallForm::hermes  ? std::string(kOpen) + "\n"
                        : form == CallForm::fence ? std::string(kFence) + "\n["
                                                  : std::string();
  opening += "{\"name\": ";
  if (name.empty()) return opening + '"';
  return opening + fmt::format("{}, \"{}\": ", json(name).dump(), arguments_key(form));
}

std::size_t call_may_begin(CallForm form, std::string_view turn, std::size_t from) {
  if (form != CallForm::llama)
    return find_growing(turn, form == CallForm::hermes ? kOpen : kFence, from);
  std::size_t first = turn.size();
  const auto look = [&](std::size_t after) {
    const std::size_t at = turn.find_first_not_of(" \t\r\n\f\v", after);
    if (at != std::string_view::npos && at >= from && may_be_whole(turn.substr(at)))
      first = std::min(first, at);
  };
  look(0);
  for (const std::string_view close : {"</think>", "</thinking>"})
    for (std::size_t at = turn.find(close); at != std::string_view::npos;
         at = turn.find(close, at + close.size()))
      look(at + close.size());
  return first;
}

CallForm call_form(const ConversationText& texts) {
  constexpr const char* kName = "call_form_probe";
  const Message tools = Message::parse(
      R"([{"type": "function", "function": {"name": "call_form_probe", "description": "Looks",
           "parameters": {"type": "object", "properties": {"place": {"type": "string"}}}}}])");
  const Message calls = Message::parse(
      R"([{"type": "function", "function": {"name": "call_form_probe",
                                            "arguments": {"place": "here"}}}])");
  const Message& arguments = calls[0]["function"]["arguments"];
  Conversation talk{{message("user", "Really?")}};
  talk.variables["tools"] = tools;
  std::string shown;
  try {
    const std::string asked = texts.render(talk, ConversationText::Ending::open);
    Message call = message("assistant", "");
    call["tool_calls"] = calls;
    talk.messages.push_back(call);
    shown = texts.render(talk, ConversationText::Ending::complete);
    const auto differs =
        std::mismatch(shown.begin(), shown.end(), asked.begin(), asked.end()).first;
    shown.erase(shown.begin(), differs);
  } catch (const InputError& error) {
    throw InputError(error_message(
        fmt::format("the chat template refuses a call of a function: {}", error.what()),
        "the policy would not know how to write one",
        "name a text.template that shows tools and calls, or leave out environment.name=tools"));
  }
  const auto is_form = [&](CallForm form, std::string_view turn) {
    const ToolCalls found = parse_calls(form, turn, {kName});
    return found.calls.size() == 1 &&
           Message::parse(found.calls.front().arguments, nullptr, false) == arguments;
  };
  if (is_form(CallForm::hermes, shown)) return CallForm::hermes;
  if (is_form(CallForm::fence, shown)) return CallForm::fence;
  const std::size_t begin = shown.find('{'), end = shown.rfind('}');
  if (begin < end && end != std::string::npos &&
      is_form(CallForm::llama, std::string_view(shown).substr(begin, end - begin + 1)))
    return CallForm::llama;
  throw InputError(error_message(
      shown.find(kName) == std::string::npos
          ? std::string("the chat template does not show calls of functions")
          : fmt::format("the chat template writes a call in a form that is not known: {}",
                        visible(brief(shown))),
      "calls could not be told from other words",
      "name a text.template that writes calls as Qwen's, Llama 3's or SmolLM's do"));
}

}  // namespace rollcall::text
