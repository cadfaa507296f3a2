// Lengths of answers and of conversations.
#include "sizing/lengths.hpp"

#include "task/task.hpp"

#include <algorithm>

namespace rollcall::sizing {
namespace {

/// Whether only the model's positions limit what is said after a prompt.
bool fills_positions(const RunConfig& c) {
  return c.environment.max_tokens == 0 && task::has_environment(c);
}

}  // namespace

std::int64_t least_answer_tokens(const RunConfig& c) {
  if (!task::has_environment(c)) return c.sampling.max_new_tokens;
  if (c.environment.max_tokens > 0) return c.environment.max_tokens;
  return c.sampling.turn_tokens > 0 ? std::min(c.sampling.turn_tokens, c.sampling.max_new_tokens)
                                    : c.sampling.max_new_tokens;
}

const char* answer_limit_key(const RunConfig& c) {
  if (!task::has_environment(c)) return "sampling.max_new_tokens";
  if (c.environment.max_tokens > 0) return "environment.max_tokens";
  return c.sampling.turn_tokens > 0 ? "sampling.turn_tokens" : "sampling.max_new_tokens";
}

std::int64_t answer_tokens(const RunConfig& c, std::int64_t positions, std::int64_t prompt) {
  const std::int64_t least = least_answer_tokens(c);
  return fills_positions(c) ? std::max(least, positions - prompt) : least;
}

}  // namespace rollcall::sizing
