// Function calls as models write them, each in the form of the model's chat template. The parser is
// strict and never guesses.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace rollcall::text {

class ConversationText;

/// How a template writes calls. `hermes` (Qwen, SmolLM): any number of
/// <tool_call>{"name","arguments"}</tool_call>. `llama`: the whole turn is {"name","parameters"},
/// after an optional <|python_tag|>. `fence`: ```json with a list of {"name","arguments"}, as in
/// SmolLM's older form.
enum class CallForm { hermes, llama, fence };

struct ToolCall {
  std::string name;
  std::string arguments;  ///< a JSON object, as the model wrote it
};

struct ToolCalls {
  std::vector<ToolCall> calls{};
  std::string spoken{};  ///< the turn's text without the calls and without thoughts
  std::string fault{};   ///< why the calls cannot be read; then `calls` is empty
};

/// Reads a turn. An unfinished call, JSON that is not an object, a name that is not in `names` and
/// a repeated key are faults.
ToolCalls parse_calls(CallForm form, std::string_view turn, const std::vector<std::string>& names);

/// How a turn begins that calls a tool: up to the name or, if `name` is given, up to the arguments.
std::string call_opening(CallForm form, const std::string& name = {});

/// Where in a turn that still grows a call may begin, at `from` or later: the first mark of one, or
/// what may become one at the end. The turn's size if there is none. Marks inside thoughts count.
std::size_t call_may_begin(CallForm form, std::string_view turn, std::size_t from = 0);

/// The form that a template asks for, found by rendering a call. Throws InputError naming the
/// template if it shows calls in a form that the parser does not know, or does not show them.
CallForm call_form(const ConversationText& texts);

}  // namespace rollcall::text
