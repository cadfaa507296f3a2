// Reads calls and stop texts out of an answer, and writes it as JSON.
#include "api/answer.hpp"

#include "api/answer_parts.hpp"
#include "base/errors/error.hpp"
#include "base/numbers/hash.hpp"
#include "text/tokenizer/text_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace rollcall::api {
namespace {

constexpr double kLeastLogprob = -9999.0;  // what such servers write for -infinity

/// Where the first call of a text begins, from which parse_calls() reads `count`.
std::size_t first_call(text::CallForm form, std::string_view text,
                       const std::vector<std::string>& names, std::size_t count) {
  std::size_t first = text::call_may_begin(form, text);
  // Marks inside a thought come before it, and from any of them on there are as many calls.
  for (std::size_t at = first; at < text.size(); at = text::call_may_begin(form, text, at + 1)) {
    if (text::parse_calls(form, text.substr(at), names).calls.size() != count) break;
    first = at;
  }
  return first;
}

/// Takes the calls out of the content.
void read_calls(text::CallForm form, const Call& call, Said& said) {
  const std::vector<std::string> names = tool_names(call);
  text::ToolCalls found = text::parse_calls(form, said.content, names);
  said.unread = !found.fault.empty();
  if (found.calls.empty()) return;
  const std::string_view text = said.content;
  const std::size_t begin = first_call(form, text, names, found.calls.size());
  const std::string_view before = text.substr(0, begin);
  const std::size_t end = before.find_last_not_of(kWhiteSpace);
  std::string content(before.substr(0, end == std::string_view::npos ? 0 : end + 1));
  const std::string after = text::parse_calls(form, text.substr(begin), names).spoken;
  if (!content.empty() && !after.empty()) content += '\n';
  said.content = content + after;
  said.calls = std::move(found.calls);
}

std::int64_t characters_of(std::string_view text) {
  return std::count_if(text.begin(), text.end(),
                       [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
}

Json token_json(const TokenNumbers& token) {
  Json bytes = Json::array();
  for (const char c : token.text) bytes.push_back(int(static_cast<unsigned char>(c)));
  if (token.text.find("\xEF\xBF\xBD") != std::string::npos) bytes = nullptr;  // they are not known
  return {{"token", token.text},
          {"logprob", token.logprob},
          {"bytes", bytes},
          {"top_logprobs", Json::array()}};
}

}  // namespace

Said said_of(const Template& shown, const Call& call, std::string_view forced,
             std::span<const std::int32_t> sampled, bool stopped) {
  std::string text = std::string(forced) + shown.format->answer_text(sampled);
  std::size_t end = text.size();
  for (const std::string& stop : call.stop) end = std::min(end, text.find(stop, forced.size()));
  text.resize(end);
  Said said{.content = text::valid_utf8(text), .calls = {}, .finish = stopped ? "stop" : "length"};
  if (reads_calls(call) && shown.calls) read_calls(*shown.calls, call, said);
  if (!said.calls.empty()) said.finish = "tool_calls";
  return said;
}

std::string call_id(std::uint64_t address, std::size_t index) {
  return "call_" + hex64(checksum64(fmt::format("{:x} {}", address, index))).substr(0, 12);
}

text::Message message_of(const Said& said, std::uint64_t address) {
  text::Message message = {{"role", "assistant"}};
  if (said.calls.empty() || !said.content.empty()) message["content"] = said.content;
  for (std::size_t i = 0; i < said.calls.size(); ++i)
    message["tool_calls"].push_back(tool_call_json(said.calls[i], address, i));
  return message;
}

Numbers numbers_of(const Template& shown, const Call& call, std::int64_t prompt_tokens,
                   std::span<const std::int32_t> sampled, std::span<const float> logprob) {
  expect(sampled.size() == logprob.size(), "each token has its log-prob");
  Numbers numbers{.prompt_tokens = prompt_tokens,
                  .completion_tokens = std::int64_t(sampled.size())};
  std::int64_t offset = 0;
  for (std::size_t i = 0; call.logprobs && i < sampled.size(); ++i)
    numbers.tokens.push_back(
        token_numbers(*shown.format->tokenizer(), sampled[i], double(logprob[i]), offset));
  return numbers;
}

std::string answer_json(const Call& call, const Said& said, const Numbers& numbers,
                        std::uint64_t address) {
  const bool chat = call.kind == Call::Kind::chat;
  Json choice = {{"index", 0}};
  if (chat) {
    Json message = message_of(said, address);
    choice["message"] = {
        {"role", "assistant"}, {"content", message.value("content", Json())}, {"refusal", nullptr}};
    if (!said.calls.empty()) choice["message"]["tool_calls"] = std::move(message["tool_calls"]);
  } else {
    choice["text"] = said.content;
  }
  choice["logprobs"] = logprobs_json(call, numbers.tokens);
  choice["finish_reason"] = said.finish;
  Json answer = head_json(call, "chat.completion", address);
  answer["choices"] = Json::array({std::move(choice)});
  answer["usage"] = usage_json(numbers);
  return bytes_of(answer);
}

Json head_json(const Call& call, const char* object, std::uint64_t address) {
  const bool chat = call.kind == Call::Kind::chat;
  return {{"id", (chat ? "chatcmpl-" : "cmpl-") + hex64(address)},
          {"object", chat ? object : "text_completion"},
          {"created", 0},
          {"model", call.model}};
}

Json usage_json(const Numbers& numbers) {
  return {{"prompt_tokens", numbers.prompt_tokens},
          {"completion_tokens", numbers.completion_tokens},
          {"total_tokens", numbers.prompt_tokens + numbers.completion_tokens}};
}

Json logprobs_json(const Call& call, std::span<const TokenNumbers> tokens) {
  if (!call.logprobs) return nullptr;
  if (call.kind == Call::Kind::chat) {
    Json content = Json::array();
    for (const TokenNumbers& token : tokens) content.push_back(token_json(token));
    return {{"content", std::move(content)}, {"refusal", nullptr}};
  }
  Json texts = Json::array(), logprobs = Json::array(), offsets = Json::array();
  for (const TokenNumbers& token : tokens) {
    texts.push_back(token.text);
    logprobs.push_back(token.logprob);
    offsets.push_back(token.offset);
  }
  return {{"tokens", std::move(texts)},
          {"token_logprobs", std::move(logprobs)},
          {"top_logprobs", nullptr},
          {"text_offset", std::move(offsets)}};
}

Json tool_call_json(const text::ToolCall& called, std::uint64_t address, std::size_t index) {
  return {{"id", call_id(address, index)},
          {"type", "function"},
          {"function", {{"name", called.name}, {"arguments", called.arguments}}}};
}

TokenNumbers token_numbers(const text::Tokenizer& tokenizer, std::int32_t token, double logprob,
                           std::int64_t& offset) {
  TokenNumbers numbers{.text = text::valid_utf8(
                           tokenizer.decode(std::span(&token, 1), text::Tokenizer::Special::keep)),
                       .logprob = std::max(logprob, kLeastLogprob),
                       .offset = offset};
  offset += characters_of(numbers.text);
  return numbers;
}

std::string bytes_of(const Json& json) { return json.dump(); }

}  // namespace rollcall::api
