// Looks in text for end tokens as a tokenizer spells them.
#include "text/chat/answer_ends.hpp"

#include "base/errors/error.hpp"
#include "base/text/joined.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rollcall::text {

AnswerEnds::AnswerEnds(const TextFiles& files)
    : tokenizer_(files.tokenizer), end_tokens_(files.end_tokens) {
  for (const auto token : end_tokens_) {
    const std::string text = tokenizer_->decode(std::span(&token, 1), Tokenizer::Special::keep);
    if (!text.empty() && tokenizer_->encode(text) == std::vector{token}) end_texts_.push_back(text);
  }
}

void AnswerEnds::learn(std::string_view question, std::string_view open, std::string_view answered,
                       std::string_view answer) {
  if (open.starts_with(question)) head_ = open.substr(question.size());
  const std::size_t said = answered.rfind(answer);
  require(said != std::string::npos, "the chat template leaves out what the assistant says",
          "it is of no use for a model that answers", "name another one in text.template");
  const std::size_t from = said + answer.size();
  const Closing close = find(answered, from, answered.size(), true);
  if (close.begin == close.end) return;
  text_ = answered.substr(from, close.end - from);
  const std::string end(answered.substr(close.begin, close.end - close.begin));
  if (std::find(end_texts_.begin(), end_texts_.end(), end) != end_texts_.end()) return;
  unknown_end_ = end;
  unknown_token_ = tokenizer_->encode(end).at(0);
}

std::string AnswerEnds::missing_end(const std::vector<std::string>& stops) const {
  if (unknown_end_.empty() || std::any_of(stops.begin(), stops.end(), [&](const auto& stop) {
        return unknown_end_.find(stop) != std::string::npos;
      }))
    return {};
  return fmt::format(
      "the chat template ends an answer with {0}, which is none of the model's end tokens ({1}), so that sampling would go on behind it: set "
      "sampling.stop=[\"{0}\"], or name its id ({2}) under eos_token_id in generation_config.json",
      unknown_end_, joined(end_texts_, ", "), *unknown_token_);
}

std::string AnswerEnds::special_at(std::string_view text) const {
  constexpr std::size_t kLongest = 64;  // bytes of a special token's name
  const auto tokens = tokenizer_->encode(text.substr(0, kLongest));
  if (tokens.empty() || !tokenizer_->decode(std::span(tokens).first(1)).empty()) return {};
  std::string spelt = tokenizer_->decode(std::span(tokens).first(1), Tokenizer::Special::spelt);
  return !spelt.empty() && text.starts_with(spelt) ? spelt : std::string();
}

AnswerEnds::Closing AnswerEnds::find(std::string_view text, std::size_t from, std::size_t to,
                                     bool any_special) const {
  const std::size_t next = std::min(text.find_first_not_of(" \t\r\n", from), text.size());
  const bool is_open = from == to;  // the place where the next turn begins is not known
  if (is_open) to = text.size();
  Closing first{to, to};
  const auto consider = [&](const std::string& end) {
    const std::size_t at = text.find(end, from);
    if (at < first.begin && at + end.size() <= to && (at == next || !is_open))
      first = {at, at + end.size()};
  };
  for (const auto& end : end_texts_) consider(end);
  if (!unknown_end_.empty()) consider(unknown_end_);
  if (first.begin < first.end || !any_special || next >= to) return first;
  const std::string special = special_at(text.substr(next));
  return special.empty() || head_.starts_with(special) ? first
                                                       : Closing{next, next + special.size()};
}

std::span<const std::int32_t> AnswerEnds::spoken(std::span<const std::int32_t> tokens) const {
  if (tokens.empty()) return tokens;
  const bool ended =
      tokens.back() == unknown_token_ ||
      std::find(end_tokens_.begin(), end_tokens_.end(), tokens.back()) != end_tokens_.end();
  return ended ? tokens.first(tokens.size() - 1) : tokens;
}

}  // namespace rollcall::text
