// Cuts a growing text where its end may still turn out to be no content.
#include "api/stream.hpp"

#include "api/answer_parts.hpp"
#include "base/errors/error.hpp"
#include "text/chat/tool_calls.hpp"
#include "text/tokenizer/text_files.hpp"

#include <algorithm>
#include <utility>

namespace rollcall::api {
namespace {

std::string framed(const Json& json) { return "data: " + bytes_of(json) + "\n\n"; }

}  // namespace

Stream::Stream(const Template& shown, const Call& call, const std::string& forced,
               std::uint64_t address)
    : shown_(&shown),
      call_(&call),
      address_(address),
      stream_(*shown.format->tokenizer(), text::Tokenizer::Special::spelt),
      text_(forced),
      forced_bytes_(forced.size()) {}

std::string Stream::more(std::span<const std::int32_t> sampled, std::span<const float> logprob) {
  text_ += stream_.more(shown_->format->answer_ends().spoken(sampled));
  for (; call_->logprobs && counted_ < sampled.size(); ++counted_)
    tokens_.push_back(token_numbers(*shown_->format->tokenizer(), sampled[counted_],
                                    double(logprob[counted_]), offset_));
  const std::size_t end = settled();
  std::string events = began();
  if (end <= said_bytes_) return events;
  const std::string piece =
      text::valid_utf8(std::string_view(text_).substr(said_bytes_, end - said_bytes_));
  said_bytes_ = end;
  return events + content(piece);
}

std::string Stream::rest(const Said& said, const Numbers& numbers) {
  expect(said.content.starts_with(sent_), "what was streamed begins the answer");
  std::string events = began();
  // tokens behind the last more() have no event yet
  for (std::size_t i = counted_; i < numbers.tokens.size(); ++i)
    tokens_.push_back(numbers.tokens[i]);
  if (said.content.size() > sent_.size()) events += content(said.content.substr(sent_.size()));
  for (std::size_t i = 0; i < said.calls.size(); ++i) {
    Json called = {{"index", i}};
    called.update(tool_call_json(said.calls[i], address_, i));
    events += event({{"tool_calls", Json::array({std::move(called)})}}, nullptr);
  }
  events += event(Json::object(), said.finish);
  if (call_->usage) {
    Json last = head_json(*call_, "chat.completion.chunk", address_);
    last["choices"] = Json::array();
    last["usage"] = usage_json(numbers);
    events += framed(last);
  }
  return events + "data: [DONE]\n\n";
}

/// Bytes of the text that are content whatever comes.
std::size_t Stream::settled() const {
  const std::string_view text = text_;
  std::size_t end = text.size();
  for (const std::string& stop : call_->stop)
    end = std::min(end, text::find_growing(text, stop, std::max(said_bytes_, forced_bytes_)));
  if (!reads_calls(*call_) || !shown_->calls) return end;
  end = std::min(end, text::call_may_begin(*shown_->calls, text, said_bytes_));
  const std::size_t last = text.substr(0, end).find_last_not_of(kWhiteSpace);
  return last == std::string_view::npos ? 0 : last + 1;
}

/// The first event of a chat, once.
std::string Stream::began() {
  if (std::exchange(has_begun_, true) || call_->kind != Call::Kind::chat) return {};
  const std::vector<TokenNumbers> later = std::exchange(tokens_, {});
  const std::string first = event({{"role", "assistant"}, {"content", ""}}, nullptr);
  tokens_ = later;
  return first;
}

std::string Stream::content(const std::string& text) {
  sent_ += text;
  return event({{"content", text}}, nullptr);
}

/// An event with what is known of tokens since the last one.
std::string Stream::event(Json delta, const Json& finish) {
  Json choice = {{"index", 0}};
  if (call_->kind == Call::Kind::chat) choice["delta"] = std::move(delta);
  else choice["text"] = delta.value("content", "");
  choice["logprobs"] = tokens_.empty() ? Json() : logprobs_json(*call_, tokens_);
  choice["finish_reason"] = finish;
  tokens_.clear();
  Json chunk = head_json(*call_, "chat.completion.chunk", address_);
  chunk["choices"] = Json::array({std::move(choice)});
  if (call_->usage) chunk["usage"] = nullptr;
  return framed(chunk);
}

}  // namespace rollcall::api
