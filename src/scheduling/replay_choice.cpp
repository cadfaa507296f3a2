// Draws without replacement from an addressed stream, so every update rank chooses the same groups.
#include "scheduling/replay_choice.hpp"

#include "base/numbers/random.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

namespace rollcall::scheduling {
namespace {

std::vector<std::size_t> eligible(const ReplaySection& settings, const ReplayRequest& request,
                                  const std::vector<ReplayCandidate>& candidates) {
  std::vector<std::size_t> places;
  std::map<PromptId, std::size_t> newest;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const auto& candidate = candidates[i];
    if (candidate.version + std::uint64_t(settings.max_staleness) < request.version) continue;
    if (settings.choose == "advantage" && candidate.advantage == 0.0) continue;
    const auto [known, fresh] = newest.try_emplace(candidate.id.prompt, places.size());
    if (fresh || !settings.distinct_prompts) places.push_back(i);
    else places[known->second] = i;  // ascending by step, so this one is newer
  }
  std::sort(places.begin(), places.end());
  return places;
}

/// Moves a uniform draw without replacement to the front (Fisher-Yates).
void draw_uniform(std::vector<std::size_t>& places, std::size_t count, const RandomStream& stream) {
  for (std::size_t i = 0; i < count; ++i)
    std::swap(places[i], places[i + stream.below(i, places.size() - i)]);
}

/// Sequential weighted draws, as exponential arrival times: smallest -log(u) / weight first
/// (Efraimidis and Spirakis 2006).
void draw_by_advantage(std::vector<std::size_t>& places,
                       const std::vector<ReplayCandidate>& candidates, const RandomStream& stream) {
  std::vector<std::pair<double, std::size_t>> arrivals;
  for (std::size_t i = 0; i < places.size(); ++i) {
    arrivals.emplace_back(
        -std::log(std::max(stream.uniform(i), std::numeric_limits<double>::min())) /
            candidates[places[i]].advantage,
        places[i]);
  }
  std::sort(arrivals.begin(), arrivals.end());
  std::transform(arrivals.begin(), arrivals.end(), places.begin(),
                 [](const auto& arrival) { return arrival.second; });
}

}  // namespace

std::vector<std::size_t> choose_replay(const ReplaySection& settings, const ReplayRequest& request,
                                       const std::vector<ReplayCandidate>& candidates) {
  auto places = eligible(settings, request, candidates);
  auto count =
      std::size_t(std::llround(settings.share / (1.0 - settings.share) * double(request.fresh)));
  if (settings.choose == "advantage") count = std::min(count, request.fresh_equal);
  count = std::min(count, places.size());
  const RandomStream stream(request.seed, RandomPurpose::replay, request.step);
  if (settings.choose == "uniform") draw_uniform(places, count, stream);
  else if (settings.choose == "advantage") draw_by_advantage(places, candidates, stream);
  else
    std::stable_sort(places.begin(), places.end(), [&](std::size_t a, std::size_t b) {
      return candidates[a].id.step > candidates[b].id.step;
    });
  places.resize(count);
  std::sort(places.begin(), places.end());
  return places;
}

}  // namespace rollcall::scheduling
