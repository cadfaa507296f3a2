// The addresses of the seeds: a world's by the prompt and its draw, those of turns by the rollout.
#include "run/generation/conversation_seeds.hpp"

#include "base/numbers/random.hpp"

namespace rollcall::run {
namespace {

constexpr unsigned kNotExact = 11;  // of 64 bits: a seed is below 2^53 (environment::Seeds)

/// The draw of the prompt that decides how its conversations begin.
std::uint64_t world_draw(const Group& group) {
  const DerivedKind kind = group.from.kind;
  const bool again =
      kind == DerivedKind::hint || kind == DerivedKind::counterpart || kind == DerivedKind::pool;
  return again ? group.from.parent.draw : group.id.draw;
}

}  // namespace

environment::Seeds conversation_seeds(std::uint64_t run_seed, Split split, const Group& group,
                                      std::uint32_t sample) {
  const std::uint64_t world =
      group.id.prompt.value | world_draw(group) << 40U | std::uint64_t(split) << 60U;
  const auto drawn = [&](std::uint64_t prompt, std::uint64_t number) {
    return RandomStream(run_seed, RandomPurpose::environment, group.id.step, prompt, number)
               .bits(0) >>
           kNotExact;
  };
  return {.start = drawn(world, 0), .turns = drawn(group.stream_prompt, 1 + std::uint64_t(sample))};
}

}  // namespace rollcall::run
