// Deals a step's groups to ranks, with response lengths drawn from those of a recorded run.
#include "sizing/scale/dealt_rollouts.hpp"

#include "base/numbers/random.hpp"
#include "sizing/aggregators.hpp"

#include <algorithm>

namespace rollcall::sizing::scale {

using comm::Stage;

DealtRollouts deal_rollouts(const comm::StageLayout& layout, int ranks_per_node,
                            const Workload& work) {
  DealtRollouts dealt;
  const std::vector<int>& generators = layout.of(Stage::generation);
  dealt.shares.resize(generators.size());
  const RandomStream stream(work.seed, RandomPurpose::test);
  const auto n = std::uint64_t(work.rollouts), groups = std::uint64_t(work.prompts),
             ranks = std::uint64_t(generators.size());
  for (std::uint64_t g = 0, r = 0; g < groups; ++g) {
    GenerationShare& share = dealt.shares[std::min(ranks - 1, r * ranks / n)];
    share.groups += 1;
    for (const std::uint64_t end = (g + 1) * n / groups; r < end; ++r) {
      const std::int64_t length = work.lengths[stream.below(r, work.lengths.size())];
      share.longest = std::max(share.longest, length);
      share.tokens += length;
      ++share.rollouts;
      dealt.tokens += double(length);
    }
  }
  dealt.generating.resize(std::size_t((layout.ranks + ranks_per_node - 1) / ranks_per_node));
  std::vector<int> sharing;
  for (std::size_t i = 0; i < dealt.shares.size(); ++i) {
    if (dealt.shares[i].rollouts == 0) continue;
    sharing.push_back(generators[i]);
    ++dealt.generating[std::size_t(sharing.back() / ranks_per_node)];
  }
  dealt.sharing = sharing.size();
  dealt.kept = generators == layout.of(Stage::update) &&
               layout.of(Stage::scoring) == layout.of(Stage::update);
  if (!dealt.kept) return dealt;
  dealt.storing.resize(dealt.shares.size());
  const auto storing = aggregators(layout, sharing);
  for (std::size_t next = 0, i = 0; i < dealt.shares.size(); ++i) {
    if (dealt.shares[i].rollouts == 0) continue;
    AggregatedFile& file = dealt.files[dealt.storing[i] = storing[next++]];
    ++file.parts;
    file.rollouts += dealt.shares[i].rollouts;
  }
  return dealt;
}

}  // namespace rollcall::sizing::scale
