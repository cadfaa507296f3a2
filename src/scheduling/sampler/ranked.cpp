// Random keys by prompt, a partial sort, and the chances of the drawn prompts.
#include "scheduling/sampler/ranked.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>

namespace rollcall::scheduling {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

double log_sum(double a, double b) {
  const double top = std::max(a, b);
  return top == kNever ? kNever : top + std::log(std::exp(a - top) + std::exp(b - top));
}

/// Chances in order of drawing; the sums run from the last prompt to the first, so that nothing
/// cancels.
void state_chances(std::vector<PromptDraw>& draws, const std::vector<std::uint32_t>& order,
                   const std::vector<double>& score) {
  double sum = kNever;
  for (std::size_t i = order.size(); i-- > 0;) {
    const double own = score[order[i]];
    sum = log_sum(sum, own);
    if (i < draws.size())
      draws[i].probability = sum == kNever ? 1.0 / double(order.size() - i) : std::exp(own - sum);
  }
}

}  // namespace

std::vector<PromptDraw> take(const Knowledge& knowledge, std::uint64_t step, std::size_t wanted,
                             const std::vector<PromptId>& held, const std::vector<double>& score,
                             By by) {
  const RandomStream stream = knowledge.random(step, std::uint64_t(SamplerUse::rank));
  std::vector<std::uint32_t> order;
  std::vector<double> key(score.size()), tie(score.size());
  for (std::uint32_t p = 0; p < score.size(); ++p) {
    if (std::binary_search(held.begin(), held.end(), PromptId{p})) continue;
    tie[p] = stream.uniform(p);
    const double gumbel = -std::log(-std::log1p(-std::max(tie[p], 0x1p-54)));
    key[p] = by == By::chance ? score[p] + gumbel : score[p];
    order.push_back(p);
  }
  const auto before = [&](std::uint32_t a, std::uint32_t b) {
    return std::tuple(-key[a], tie[a], a) < std::tuple(-key[b], tie[b], b);
  };
  const std::size_t count = std::min(wanted, order.size());
  std::partial_sort(order.begin(), order.begin() + std::ptrdiff_t(count), order.end(), before);
  std::vector<PromptDraw> draws(count);
  for (std::size_t i = 0; i < count; ++i) draws[i].prompt = {order[i]};
  if (by == By::chance) state_chances(draws, order, score);
  return draws;
}

void repeat(const Knowledge& knowledge, std::uint64_t step, std::size_t wanted,
            std::vector<PromptDraw>& draws) {
  const RandomStream stream = knowledge.random(step, std::uint64_t(SamplerUse::repeat));
  for (std::uint32_t pass = 1; draws.size() < wanted; ++pass) {
    std::vector<std::uint32_t> order(knowledge.size());
    std::iota(order.begin(), order.end(), 0);
    const auto key = [&](std::uint32_t p) {
      return std::pair(stream.bits(std::uint64_t(pass) << 32 | p), p);
    };
    std::sort(order.begin(), order.end(),
              [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
    for (std::size_t i = 0; i < order.size() && draws.size() < wanted; ++i)
      draws.push_back({{order[i]}, pass});
  }
}

std::vector<PromptId> with(const std::vector<PromptId>& held,
                           const std::vector<PromptDraw>& draws) {
  std::vector<PromptId> all = held;
  for (const PromptDraw& draw : draws) all.push_back(draw.prompt);
  std::sort(all.begin(), all.end());
  return all;
}

std::vector<PromptDraw> RankedSampler::choose(const StepRequest& request,
                                              const std::vector<PromptId>& held) {
  auto draws =
      take(*knowledge_, request.step, std::size_t(request.prompts), held, scores(request), by());
  repeat(*knowledge_, request.step, std::size_t(request.prompts), draws);
  return draws;
}

}  // namespace rollcall::scheduling
