// The four tables of pieces: name, rule, maker.
#include "scheduling/allocator/bin_square_root.hpp"
#include "scheduling/allocator/equal.hpp"
#include "scheduling/allocator/gdro.hpp"
#include "scheduling/allocator/square_root.hpp"
#include "scheduling/policies.hpp"
#include "scheduling/rounds/single.hpp"
#include "scheduling/sampler/gdro_resample.hpp"
#include "scheduling/sampler/uniform.hpp"
#include "scheduling/selection/all.hpp"
#include "scheduling/selection/gdro_reweight.hpp"

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
  {"gdro_resample", "bin b by q_t(b) = (1 - gamma) w_t(b) / sum w_t + gamma / B, then a prompt of b", knowing<Sampler, GdroResample>},
};

constexpr PieceRow<Allocator> kAllocators[] = {
  {"equal", "n_i = budget / prompts", make<Allocator, EqualAllocator>},
  {"square_root", "n_i ~ sqrt(p_i (1 - p_i)), p_i the fading success estimate", make<Allocator, SquareRootAllocator>},
  {"bin_square_root", "n_b ~ sqrt(v_b), v_b the fading reward variance of difficulty bin b", knowing<Allocator, BinSquareRootAllocator>},
  {"gdro", "n_b drawn by one EXP3.P a bin for the loss -J_b(n) + mu n, jointly at sum_b q_b n_b = n_bar", knowing<Allocator, GdroAllocator>},
};

constexpr PieceRow<Rounds> kRounds[] = {
  {"single", "all rollouts at once", make<Rounds, SingleRound>},
};

constexpr PieceRow<Selection> kSelections[] = {
  {"all", "every rollout trains", make<Selection, SelectAll>},
  {"gdro_reweight", "A_ij <- A_ij min(w_t(b_i), w_max), w_t(b) = exp(eta clip(S_t(b), -C, C))", knowing<Selection, GdroReweight>},
};
// clang-format on

}  // namespace

std::span<const PieceRow<Sampler>> samplers() { return kSamplers; }
std::span<const PieceRow<Allocator>> allocators() { return kAllocators; }
std::span<const PieceRow<Rounds>> rounds() { return kRounds; }
std::span<const PieceRow<Selection>> selections() { return kSelections; }

}  // namespace rollcall::scheduling
