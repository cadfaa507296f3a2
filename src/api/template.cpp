// Asks the chat template once, with a tool of the usual form.
#include "api/template.hpp"

#include "base/errors/error.hpp"
#include "text/chat/turn_texts.hpp"

namespace rollcall::api {

Template template_of(const text::PromptFormat& format) {
  Template shown{.format = &format};
  try {
    text::require_tools(
        format,
        R"([{"type": "function", "function": {"name": "look_up", "description": "Looks it up",
             "parameters": {"type": "object", "properties": {"word": {"type": "string"}}}}}])");
    shown.calls = text::call_form(format.conversations());
  } catch (const InputError& error) {
    shown.fault = error.what();
  }
  return shown;
}

std::optional<Refusal> unfit(const Call& call, const Template& shown) {
  if (call.kind == Call::Kind::chat && !shown.format->is_chat())
    return Refusal{.message = error_message("the model has no chat template",
                                            "messages cannot be shown to it",
                                            "ask /v1/completions, with a prompt")};
  if (!call.tools.is_null() && !shown.calls)
    return Refusal{.message = "tools cannot be used with this model: " + shown.fault,
                   .param = "tools"};
  return std::nullopt;
}

std::string forced_beginning(const Call& call, const Template& shown) {
  if (!shown.calls || call.choice < Call::Choice::required) return {};
  return text::call_opening(*shown.calls, call.named);
}

}  // namespace rollcall::api
