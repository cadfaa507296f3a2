// What is known of a policy's texts before calls come: whether its template shows tools, and how it
// writes calls of them.
#pragma once

#include "api/call.hpp"
#include "text/chat/prompt_format.hpp"
#include "text/chat/tool_calls.hpp"

#include <optional>
#include <string>

namespace rollcall::api {

struct Template {
  const text::PromptFormat* format = nullptr;
  std::optional<text::CallForm> calls{};  ///< how the template writes calls of tools
  std::string fault{};                    ///< why no tool can be called; empty if some can
};

/// Renders a few conversations. The format must outlive the result.
Template template_of(const text::PromptFormat& format);

/// Why this policy cannot answer a call: there is no chat template, or it shows no tools.
std::optional<Refusal> unfit(const Call& call, const Template& shown);

/// Whether calls of tools are looked for in the answer.
inline bool reads_calls(const Call& call) {
  return !call.tools.is_null() && call.choice != Call::Choice::none;
}

/// How the answer begins where tool_choice demands a call, which cannot be enforced otherwise: the
/// opening of a call, to be given to the policy behind the prompt. Else empty.
std::string forced_beginning(const Call& call, const Template& shown);

}  // namespace rollcall::api
