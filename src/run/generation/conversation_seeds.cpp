// The addresses of the seeds. A world's seed is addressed by the prompt and its draw, and the seeds
// of turns by the rollout.
#include "run/generation/conversation_seeds.hpp"

#include "base/numbers/random.hpp"

namespace rollcall::run {
namespace {

constexpr unsigned kNotExact = 11;  // of 64 bits: a seed is below 2^53 (environment::Seeds)

/// The draw of the prompt that decides how its conversations begin.
std::uint64_t world_draw(const ConversationAddress& address) {
  const DerivedKind kind = address.from.kind;
  const bool again =
      kind == DerivedKind::hint || kind == DerivedKind::counterpart || kind == DerivedKind::pool;
  return again ? address.from.parent.draw : address.group.draw;
}

}  // namespace

environment::Seeds conversation_seeds(std::uint64_t run_seed, const ConversationAddress& address,
                                      std::uint32_t sample) {
  const std::uint64_t world =
      address.group.prompt.value | world_draw(address) << 40U | std::uint64_t(address.split) << 60U;
  const auto drawn = [&](std::uint64_t prompt, std::uint64_t number) {
    return RandomStream(run_seed, RandomPurpose::environment, address.group.step, prompt, number)
               .bits(0) >>
           kNotExact;
  };
  return {.start = drawn(world, 0),
          .turns = drawn(address.stream_prompt, 1 + std::uint64_t(sample))};
}

}  // namespace rollcall::run
