// Checks a request before a session opens its sequences, and a sequence before it continues.
#include "model/decode/check_request.hpp"

#include "base/errors/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace rollcall::model {

void check_request(const DecodeRequest& request, const ModelConfig& config,
                   const SamplingParams& sampling) {
  require<InputError>(!request.prompt.empty(), "a prompt has no tokens",
                      "the first token is drawn from what follows the prompt",
                      "give every prompt at least one character");
  for (const std::int32_t token : request.prompt) {
    require<InputError>(
        token >= 0 && token < config.vocab_size,
        fmt::format("a prompt holds token {} of a vocabulary of {}", token, config.vocab_size),
        "the model has no embedding for it", "use the tokenizer the model was trained with");
  }
  expect(request.given >= 0 && request.given <= std::int64_t(request.prompt.size()) &&
             first_turn_limit(request, sampling) > 0,
         "a given beginning is part of the prompt and leaves something to sample");
  const std::int64_t most = first_turn_limit(request, sampling);
  require<InputError>(
      std::int64_t(request.prompt.size()) + most <= config.max_position_embeddings,
      fmt::format("a prompt of {} tokens and {} new ones exceed the model's {} positions",
                  request.prompt.size(), most, config.max_position_embeddings),
      "the model cannot read past its last position",
      "shorten the prompt or lower sampling.max_new_tokens");
}

std::int64_t first_turn_limit(const DecodeRequest& request, const SamplingParams& sampling) {
  return request.most > 0 ? request.most : sampling.max_new_tokens - request.given;
}

void expect_room(std::int64_t length, std::span<const std::int32_t> said, std::int64_t most,
                 const ModelConfig& config) {
  expect(most > 0 && length + std::int64_t(said.size()) + most <= config.max_position_embeddings,
         "a sequence goes on where the model has positions for its next turn");
  expect(std::all_of(said.begin(), said.end(),
                     [&](std::int32_t token) { return token >= 0 && token < config.vocab_size; }),
         "others' tokens are in the vocabulary");
}

}  // namespace rollcall::model
