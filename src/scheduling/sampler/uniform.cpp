// Walks the addressed order of an epoch and remembers only a position.
#include "scheduling/sampler/uniform.hpp"

#include "base/errors/error.hpp"
#include "base/numbers/random.hpp"
#include "base/text/json.hpp"
#include "scheduling/sampler/permutation.hpp"

#include <algorithm>
#include <unordered_set>
#include <utility>

namespace rollcall::scheduling {
namespace {

constexpr std::uint64_t kAmongCandidates = 0x63616e64;  // address of the draws of steps with
                                                        // candidates: no epoch's permutation uses
                                                        // it

}  // namespace

std::vector<std::uint64_t> UniformSampler::pass(std::uint64_t prompts,
                                                const std::vector<PromptId>& held) {
  std::vector<std::uint64_t> chosen, waiting;
  std::unordered_set<std::uint64_t> seen;
  for (const PromptId prompt : held) seen.insert(prompt.value);
  // Prompts that an earlier step passed over come first.
  for (const std::uint64_t prompt : deferred_)
    (chosen.size() < prompts && seen.insert(prompt).second ? chosen : waiting).push_back(prompt);
  deferred_ = std::move(waiting);
  Permutation order(population_, seed_, epoch_);
  while (chosen.size() < prompts) {
    if (cursor_ == population_) {
      cursor_ = 0;
      order = Permutation(population_, seed_, ++epoch_);
    }
    const std::uint64_t prompt = order(cursor_++);
    (seen.insert(prompt).second ? chosen : deferred_).push_back(prompt);
  }
  return chosen;
}

std::vector<PromptDraw> UniformSampler::among(const StepRequest& request,
                                              const std::vector<PromptId>& held) {
  std::set<std::uint64_t> open;
  for (const PromptId prompt : request.candidates) {
    if (!std::binary_search(held.begin(), held.end(), prompt)) open.insert(prompt.value);
  }
  std::vector<PromptDraw> draws;
  const auto wanted = std::min(open.size(), std::size_t(request.prompts));
  while (draws.size() < wanted) {
    const RandomStream stream(seed_, RandomPurpose::schedule, candidate_epoch_, 0,
                              kAmongCandidates);
    std::vector<std::pair<std::uint64_t, std::uint64_t>> order;
    for (const std::uint64_t prompt : open) {
      if (!passed_.contains(prompt)) order.emplace_back(stream.bits(prompt), prompt);
    }
    std::sort(order.begin(), order.end());
    order.resize(std::min(order.size(), wanted - draws.size()));
    for (const auto& [key, prompt] : order)
      draws.push_back({{prompt}}), passed_.insert(prompt), open.erase(prompt);
    // all that may be chosen have had their turn
    if (draws.size() < wanted) ++candidate_epoch_, passed_.clear();
  }
  return draws;
}

std::vector<PromptDraw> UniformSampler::choose(const StepRequest& request,
                                               const std::vector<PromptId>& held) {
  if (!request.candidates.empty()) return among(request, held);
  const auto wanted = std::size_t(request.prompts);
  std::vector<PromptDraw> draws;
  draws.reserve(wanted);
  const std::size_t fresh = std::min<std::uint64_t>(
      wanted, population_ - std::min<std::uint64_t>(held.size(), population_));
  for (const std::uint64_t prompt : pass(fresh, held)) draws.push_back({{prompt}});
  for (std::uint32_t draw = 1; draws.size() < wanted; ++draw) {
    for (const std::uint64_t prompt :
         pass(std::min<std::uint64_t>(wanted - draws.size(), population_), {}))
      draws.push_back({{prompt}, draw});
  }
  return draws;
}

nlohmann::json UniformSampler::save() const {
  nlohmann::json state = {{"epoch", epoch_}, {"cursor", cursor_}, {"deferred", deferred_}};
  if (candidate_epoch_ > 0 || !passed_.empty())
    state["candidates"] = {{"epoch", candidate_epoch_}, {"passed", passed_}};
  return state;
}

void UniformSampler::load(const nlohmann::json& state) {
  const auto cursor = state.at("cursor").get<std::uint64_t>();
  const auto deferred = state.at("deferred").get<std::vector<std::uint64_t>>();
  const bool inside =
      cursor <= population_ && std::all_of(deferred.begin(), deferred.end(),
                                           [&](std::uint64_t p) { return p < population_; });
  require<StorageError>(inside, "the saved position lies outside the training prompts",
                        "the run would not continue where it stopped",
                        "resume with the task section the run was started with");
  epoch_ = state.at("epoch").get<std::uint64_t>();
  cursor_ = cursor;
  deferred_ = deferred;
  candidate_epoch_ = 0, passed_.clear();
  if (!state.contains("candidates")) return;
  candidate_epoch_ = state.at("candidates").at("epoch").get<std::uint64_t>();
  passed_ = state.at("candidates").at("passed").get<std::set<std::uint64_t>>();
}

bool UniformSampler::load_changed(const nlohmann::json& state, const PromptMap&) {
  epoch_ = state.at("epoch").get<std::uint64_t>() + 1;
  if (state.contains("candidates"))
    candidate_epoch_ = state.at("candidates").at("epoch").get<std::uint64_t>() + 1;
  return true;
}

}  // namespace rollcall::scheduling
