// The events of a streamed answer.
#pragma once

#include "api/answer.hpp"
#include "text/tokenizer/text_stream.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace rollcall::api {

/// Holds back what may become a stop text, a call of a tool or half a character, and white space
/// before a call. What all events say together is what answer_json() would say.
class Stream {
 public:
  /// `forced`: how the answer was made to begin. Template and call must outlive the stream.
  Stream(const Template& shown, const Call& call, const std::string& forced, std::uint64_t address);
  /// Events for what is new; empty if nothing can be said yet. `sampled`: [T] all tokens up to now,
  /// `logprob`: [T].
  std::string more(std::span<const std::int32_t> sampled, std::span<const float> logprob);
  /// What is left, the calls, the end and, if it is asked for, the usage. Nothing follows it.
  std::string rest(const Said& said, const Numbers& numbers);

 private:
  std::size_t settled() const;
  std::string began();
  std::string content(const std::string& text);
  std::string event(nlohmann::ordered_json delta, const nlohmann::ordered_json& finish);

  const Template* shown_;
  const Call* call_;
  std::uint64_t address_;
  text::TextStream stream_;
  std::string text_;                  ///< the answer up to now, as it was sampled
  std::size_t forced_bytes_;          ///< of it, that were not sampled
  std::size_t said_bytes_ = 0;        ///< of it, that have been sent
  std::string sent_;                  ///< the content that has been sent
  std::vector<TokenNumbers> tokens_;  ///< that no event has told of
  std::size_t counted_ = 0;           ///< tokens that were taken into tokens_
  std::int64_t offset_ = 0;           ///< characters of these
  bool has_begun_ = false;
};

}  // namespace rollcall::api
