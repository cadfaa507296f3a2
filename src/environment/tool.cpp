// Conversations in which the policy calls tools before it answers.
#include "environment/tool.hpp"

#include "text/answer/answer_text.hpp"
#include "text/chat/thoughts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

namespace rollcall::environment {
namespace {

/// The number of turns so far; nothing for a text that is none.
std::optional<std::uint32_t> read_turns(std::string_view state) {
  std::uint32_t turns = 0;
  const char* end = state.data() + state.size();
  const auto [after, fault] = std::from_chars(state.data(), end, turns);
  if (fault != std::errc() || after != end || std::to_string(turns) != state ||
      turns == std::numeric_limits<std::uint32_t>::max())
    return std::nullopt;
  return turns;
}

class Tools final : public Environment {
 public:
  Tools(const std::vector<const ToolRow*>& tools, text::CallForm form, std::string index)
      : tools_(tools), form_(form), index_(std::move(index)) {
    for (const ToolRow* tool : tools_) names_.emplace_back(tool->name);
  }

  const Traits& traits() const override {
    static const Traits none_paid{
        .kinds = {"call"}, .role = "tool", .rewards = false, .decides = false};
    return none_paid;
  }

  Answer start(const Prompt&, const std::string& state, std::uint64_t) const override {
    if (state.empty()) return {.state = "0"};
    if (!read_turns(state)) return unusable();
    return {.state = state};
  }

  Answer step(const Prompt&, const std::string& state, std::string_view action, std::uint64_t,
              std::uint32_t) const override {
    const auto turns = read_turns(state);
    if (!turns) return unusable();
    Answer answer{.state = fmt::format("{}", *turns + 1)};
    const text::ToolCalls said = text::parse_calls(form_, action, names_);
    if (!said.fault.empty()) {
      answer.flags = turn_flag::invalid;
      answer.text = said.fault;
    } else if (said.calls.empty()) {
      answer.done = true;
      if (text::trim(said.spoken).empty()) answer.flags = turn_flag::void_turn;
    } else {
      answer.kind = 1;
      for (const text::ToolCall& call : said.calls) {
        const ToolResult result = carried_out(call);
        if (result.lost) return {.reason = result.text, .loss = Loss::told};
        if (result.failed) answer.flags |= turn_flag::error;
        answer.text += (answer.text.empty() ? "" : "\n") + result.text;
      }
    }
    return answer;
  }

 private:
  static Answer unusable() {
    return {.reason = "the state is no number of turns", .loss = Loss::malformed};
  }

  ToolResult carried_out(const text::ToolCall& call) const {
    const auto at = std::find(names_.begin(), names_.end(), call.name) - names_.begin();
    return tools_[std::size_t(at)]->call(call.arguments, index_);
  }

  std::vector<const ToolRow*> tools_;
  std::vector<std::string> names_;
  text::CallForm form_;
  std::string index_;
};

}  // namespace

std::unique_ptr<const Environment> make_tools(const std::vector<const ToolRow*>& tools,
                                              text::CallForm form, std::string index) {
  return std::make_unique<Tools>(tools, form, std::move(index));
}

}  // namespace rollcall::environment
