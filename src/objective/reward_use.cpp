// Statements of the pieces are kept with their conditions, which are asked after all settings.
#include "objective/reward_use.hpp"

#include "method/method.hpp"

#include <algorithm>
#include <utility>

namespace rollcall::objective {
namespace {

bool any(const std::vector<std::function<bool()>>& conditions) {
  return std::any_of(conditions.begin(), conditions.end(), [](const auto& when) { return when(); });
}

}  // namespace

void RewardUse::enter(std::string_view family, std::string_view piece) {
  family_ = family;
  piece_ = piece;
}

void RewardUse::trains_on(std::string what, std::function<bool()> when,
                          std::function<at::Tensor(const Step&)> paid) {
  trains_on_.push_back({family_, piece_, std::move(when), std::move(what), std::move(paid)});
}

const TrainsOn* RewardUse::in_place_of_reward() const {
  const TrainsOn* first = nullptr;
  for (const TrainsOn& one : trains_on_)
    if (one.when() && (first == nullptr ||
                       one.family == method::family_names[std::size_t(method::Family::surrogate)]))
      first = &one;
  return first;
}

std::vector<const Gate*> RewardUse::gates() const {
  std::vector<const Gate*> all;
  for (const Gate& gate : gates_)
    if (gate.when()) all.push_back(&gate);
  return all;
}

void RewardUse::reads_components(std::function<bool(const std::string&)> which) {
  reads_components_.push_back({family_, piece_, std::move(which)});
}

bool RewardUse::reads_component(const std::string& name) const {
  return std::any_of(reads_components_.begin(), reads_components_.end(),
                     [&](const auto& reader) { return reader.which(name); });
}

bool RewardUse::says_components(std::string_view family, std::string_view piece) const {
  return std::any_of(reads_components_.begin(), reads_components_.end(), [&](const auto& reader) {
    return reader.family == family && reader.piece == piece;
  });
}

void RewardUse::pays_tokens(std::function<bool()> when) { pays_tokens_.push_back(std::move(when)); }

bool RewardUse::tokens_paid() const { return any(pays_tokens_); }

void RewardUse::subtracts_verifiers(std::function<bool()> when, std::function<std::string()> what) {
  subtracts_.push_back({std::move(when), std::move(what)});
}

void RewardUse::takes_largest(std::function<bool()> when, std::function<double()> largest,
                              std::string setting) {
  largest_.push_back({{family_, piece_, std::move(setting)}, std::move(when), std::move(largest)});
}

std::vector<RewardUse::Largest> RewardUse::largest() const {
  std::vector<Largest> all;
  for (const TakenLargest& one : largest_) {
    if (!one.when()) continue;
    all.push_back(one.said);
    all.back().reward = one.reward();
  }
  return all;
}

std::vector<std::string> RewardUse::subtracted() const {
  std::vector<std::string> all;
  for (const auto& [when, what] : subtracts_)
    if (when()) all.push_back(what());
  return all;
}

}  // namespace rollcall::objective
