// A policy whose tokens are bytes, and answers of it.
#pragma once

#include "api/answer.hpp"
#include "api/call.hpp"
#include "api/template.hpp"
#include "support/spelling_tokenizer.hpp"
#include "text/chat/prompt_format.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace rollcall::api {

using Tokens = std::vector<std::int32_t>;

/// A template with tools that writes calls as Qwen's does, Llama's, or SmolLM's older one.
inline std::string template_text(text::CallForm form) {
  const std::string head =
      "{% if tools %}{{ tools | tojson }}{% endif %}{% for message in messages %}<|im_start|>"
      "{{ message.role }}\n{{ message.content }}{% for call in message.tool_calls %}";
  const std::string tail =
      "{% endfor %}<|im_end|>\n{% endfor %}"
      "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";
  const auto object = [](const std::string& key) {
    return "{\"name\": \"{{ call.function.name }}\", \"" + key +
           "\": {{ call.function.arguments | tojson }}}";
  };
  switch (form) {
    case text::CallForm::hermes:
      return head + "<tool_call>\n" + object("arguments") + "\n</tool_call>" + tail;
    case text::CallForm::llama: return head + object("parameters") + tail;
    case text::CallForm::fence: return head + "```json\n[" + object("arguments") + "]\n```" + tail;
  }
  return {};
}

/// The format of a chat template; without one if it is empty.
inline text::PromptFormat format_of(const std::string& chat_template) {
  text::TextFiles files;
  files.tokenizer =
      std::make_shared<text::Spelling>(std::vector<std::string>{"<|im_end|>", "<|im_start|>"});
  files.chat_template = files.tool_template = chat_template;
  return {TextSection{}, std::move(files), "the test"};
}

/// The call in a body that can be read.
inline Call call_in(Call::Kind kind, const std::string& body, const SamplingParams& sampling = {}) {
  auto read = read_call(kind, body, sampling);
  const Refusal* refusal = std::get_if<Refusal>(&read);
  EXPECT_EQ(refusal, nullptr) << (refusal ? refusal->message : "") << "\n" << body;
  return refusal ? Call{} : std::get<Call>(read);
}

/// The tokens of a text, and the end token if the policy ended by itself.
inline Tokens tokens_of(const Template& shown, const std::string& text, bool ends) {
  Tokens tokens = shown.format->tokenizer()->encode(text);
  if (ends) tokens.push_back(shown.format->tokenizer()->eos());
  return tokens;
}

inline const char* const kTools =
    R"([{"type": "function", "function": {"name": "add", "description": "Adds two numbers.",
         "parameters": {"type": "object", "properties": {"a": {"type": "number"}}}}},
        {"type": "function", "function": {"name": "look_up"}}])";

/// A request with tools; `more` begins with a comma if it is not empty.
inline std::string chat_body(const std::string& more = {}) {
  return R"({"model": "policy", "messages": [{"role": "user", "content": "What is 1 + 2?"}])" +
         more + "}";
}
inline std::string tools_body(const std::string& more = {}) {
  return chat_body(std::string(", \"tools\": ") + kTools + more);
}

}  // namespace rollcall::api
