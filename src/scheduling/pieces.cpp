// The four tables of pieces: name, rule, maker.
#include "scheduling/allocator/equal.hpp"
#include "scheduling/allocator/square_root.hpp"
#include "scheduling/policies.hpp"
#include "scheduling/rounds/single.hpp"
#include "scheduling/sampler/uniform.hpp"
#include "scheduling/selection/all.hpp"

namespace rollcall::scheduling {
namespace {

template <class Family, class P>
std::unique_ptr<Family> make(Knowledge&) {
  return std::make_unique<P>();
}
template <class Family, class P>
std::unique_ptr<Family> knowing(Knowledge& knowledge) {
  return std::make_unique<P>(knowledge);
}

// clang-format off
constexpr PieceRow<Sampler> kSamplers[] = {
  {"uniform", "every prompt once an epoch, in an addressed random order", [](Knowledge& k) -> std::unique_ptr<Sampler> { return std::make_unique<UniformSampler>(k.size(), k.seed()); }},
};

constexpr PieceRow<Allocator> kAllocators[] = {
  {"equal", "n_i = budget / prompts", make<Allocator, EqualAllocator>},
  {"square_root", "n_i ~ sqrt(p_i (1 - p_i)), p_i the fading success estimate", make<Allocator, SquareRootAllocator>},
};

constexpr PieceRow<Rounds> kRounds[] = {
  {"single", "all rollouts at once", make<Rounds, SingleRound>},
};

constexpr PieceRow<Selection> kSelections[] = {
  {"all", "every rollout trains", make<Selection, SelectAll>},
};
// clang-format on

}  // namespace

std::span<const PieceRow<Sampler>> samplers() { return kSamplers; }
std::span<const PieceRow<Allocator>> allocators() { return kAllocators; }
std::span<const PieceRow<Rounds>> rounds() { return kRounds; }
std::span<const PieceRow<Selection>> selections() { return kSelections; }

}  // namespace rollcall::scheduling
