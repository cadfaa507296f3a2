// Bins are lists of ids. When a prompt leaves a list, the last id takes its place.
#include "scheduling/prompts/difficulty_bins.hpp"

#include <algorithm>

namespace rollcall::scheduling {
namespace {

constexpr std::uint32_t kNobody = 0xFFFFFFFF;

}  // namespace

DifficultyBins::DifficultyBins(std::vector<double> edges, double margin, bool exclude_extremes,
                               PromptHistory& where)
    : edges_(std::move(edges)),
      margin_(margin),
      exclude_extremes_(exclude_extremes),
      history_(&where),
      members_(edges_.size() - 1 + (exclude_extremes ? 1 : 0)),
      slot_(where.size()) {}

std::int32_t DifficultyBins::of(PromptId prompt) const { return history_->entry(prompt).bin; }

std::int32_t DifficultyBins::bin_of(double estimate) const {
  if (extreme(estimate)) return std::int32_t(size()) - 1;
  const auto above = std::upper_bound(edges_.begin() + 1, edges_.end() - 1, estimate);
  return std::int32_t(above - edges_.begin()) - 1;
}

void DifficultyBins::place(PromptId prompt, double estimate) {
  const std::int32_t bin = bin_of(estimate);
  history_->entry(prompt).bin = std::uint8_t(bin);
  slot_[prompt.value] = std::uint32_t(members_[std::size_t(bin)].size());
  members_[std::size_t(bin)].push_back(std::uint32_t(prompt.value));
}

DifficultyBins::Moved DifficultyBins::update(PromptId prompt, double estimate) {
  const auto here = std::size_t(of(prompt));
  const bool excluded = here + 1 == edges_.size();
  if (!excluded && !extreme(estimate) && edges_[here] - margin_ < estimate &&
      estimate < edges_[here + 1] + margin_)
    return {};
  return put(prompt, bin_of(estimate));
}

DifficultyBins::Moved DifficultyBins::put(PromptId prompt, std::int32_t bin) {
  return bin == of(prompt) ? Moved() : move(prompt, bin);
}

std::array<std::uint32_t, 2> DifficultyBins::move(PromptId prompt, std::int32_t to) {
  auto& from = members_[std::size_t(of(prompt))];
  const std::uint32_t hole = slot_[prompt.value], last = from.back();
  from[hole] = last;
  slot_[last] = hole;
  from.pop_back();
  auto& there = members_[std::size_t(to)];
  slot_[prompt.value] = std::uint32_t(there.size());
  there.push_back(std::uint32_t(prompt.value));
  history_->entry(prompt).bin = std::uint8_t(to);
  return {std::uint32_t(prompt.value), last};
}

bool DifficultyBins::restore(const std::vector<Place>& places) {
  std::vector<std::size_t> population(size());
  for (std::size_t b = 0; b < size(); ++b) population[b] = members_[b].size();
  for (const Place& place : places) {
    if (place.bin >= size()) return false;
    --population[history_->entry({place.prompt}).bin];
    ++population[place.bin];
    history_->entry({place.prompt}).bin = place.bin;
    slot_[place.prompt] = place.slot;
  }
  for (std::size_t b = 0; b < size(); ++b) members_[b].assign(population[b], kNobody);
  for (std::uint32_t p = 0; p < slot_.size(); ++p) {
    auto& list = members_[history_->entry({p}).bin];
    if (slot_[p] >= list.size() || list[slot_[p]] != kNobody) return false;
    list[slot_[p]] = p;
  }
  return true;
}

}  // namespace rollcall::scheduling
