// Draws an arm for each place, then a prompt by a sparse shuffle of the arm's members.
#include "scheduling/sampler/arms.hpp"

#include "scheduling/sampler/ranked.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <unordered_map>

namespace rollcall::scheduling {
namespace {

/// A random order of an arm's members that is computed only as far as it is read: O(1) per draw for
/// any number of members.
class Shuffle {
 public:
  Shuffle(const std::deque<std::uint32_t>& members, RandomStream stream, std::uint64_t first)
      : members_(&members), stream_(stream), first_(first) {}
  std::uint32_t next() {
    const std::uint64_t other = at_ + stream_.below(first_ + at_, members_->size() - at_),
                        chosen = place(other);
    moved_[other] = place(at_++);
    return (*members_)[chosen];
  }

 private:
  std::uint64_t place(std::uint64_t i) const {
    const auto it = moved_.find(i);
    return it == moved_.end() ? i : it->second;
  }
  const std::deque<std::uint32_t>* members_;
  RandomStream stream_;
  std::uint64_t first_, at_ = 0;
  std::unordered_map<std::uint64_t, std::uint64_t> moved_;
};

std::size_t pick(const std::vector<double>& chance, double u) {
  double left = u * std::accumulate(chance.begin(), chance.end(), 0.0);
  std::size_t last = 0;
  for (std::size_t a = 0; a < chance.size(); ++a) {
    if (chance[a] <= 0) continue;
    last = a;
    left -= chance[a];
    if (left < 0) break;
  }
  return last;
}

}  // namespace

void ArmSampler::bind_arms(ConfigSchema& s) {
  s.bind("arms", &kind_, "what an arm is", {}, {"level", "domain", "level_domain"});
}

std::vector<Need> ArmSampler::needs() const {
  if (kind_ != "domain" && kind_ != "level_domain") return {};
  return {{"domain", "it chooses among the domains of the prompts"}};
}

std::optional<Shortage> ArmSampler::shortage(const StepRequest&) const {
  if (kind_ == "bin" || knowledge_->size() < 2 || arms() > 1) return std::nullopt;
  return Shortage{fmt::format("chooses among the {} of prompts, and all prompts have one",
                              kind_ == "domain" ? "domains" : "levels"),
                  kind_ == "domain"
                      ? "name a field of several domains in task.fields.domain"
                      : "set task.max_level above task.min_level, or name a field of several "
                        "levels in task.fields.level"};
}

void ArmSampler::prepare() const {
  if (kind_ == "bin") arms_ = knowledge_->history.bins().size();
  if (arms_ > 0) return;
  const PromptTable& table = knowledge_->prompts;
  std::map<std::pair<std::int32_t, std::int32_t>, std::size_t> number;  // ascending (level, domain)
  const auto key = [&](std::uint64_t p) {
    const std::int32_t domain = table.domain.empty() ? 0 : table.domain[p];
    return std::pair(kind_ == "domain" ? 0 : table.level[p], kind_ == "level" ? 0 : domain);
  };
  for (std::uint64_t p = 0; p < table.size(); ++p) number[key(p)] = 0;
  for (auto& [_, n] : number) n = arms_++;
  members_.resize(arms_);
  for (std::uint64_t p = 0; p < table.size(); ++p) {
    arm_.push_back(std::uint32_t(number[key(p)]));
    members_[arm_.back()].push_back(std::uint32_t(p));
  }
}

std::size_t ArmSampler::arm_of(PromptId prompt) const {
  return kind_ == "bin" ? std::size_t(knowledge_->history.bins().of(prompt)) : arm_[prompt.value];
}
const std::deque<std::uint32_t>& ArmSampler::members(std::size_t arm) const {
  return kind_ == "bin" ? knowledge_->history.bins().members(std::int32_t(arm)) : members_[arm];
}

std::vector<PromptDraw> ArmSampler::choose(const StepRequest& request,
                                           const std::vector<PromptId>& held) {
  prepare();
  if (held.empty()) chosen_.clear();
  const RandomStream arm_stream = knowledge_->random(request.step, std::uint64_t(SamplerUse::arm)),
                     place_stream =
                         knowledge_->random(request.step, std::uint64_t(SamplerUse::place));
  std::set<std::uint64_t> taken;
  std::vector<std::int64_t> left(arms_), pulled(arms_);
  std::vector<Shuffle> order;
  for (std::size_t a = 0; a < arms_; ++a) {
    left[a] = std::int64_t(size(a));
    order.emplace_back(members(a), place_stream, std::uint64_t(a) << 32);
  }
  for (const PromptId prompt : held) {
    const auto drawn_for = chosen_.find(prompt.value);
    if (taken.insert(prompt.value).second) --left[arm_of(prompt)];
    ++pulled[drawn_for == chosen_.end() ? arm_of(prompt) : drawn_for->second];
  }
  std::vector<PromptDraw> draws;
  while (draws.size() < std::size_t(request.prompts) &&
         std::any_of(left.begin(), left.end(), [](std::int64_t n) { return n > 0; })) {
    auto chance = chances(request, pulled);
    for (std::size_t a = 0; a < arms_; ++a) chance[a] = left[a] > 0 ? chance[a] : 0.0;
    double sum = std::accumulate(chance.begin(), chance.end(), 0.0);
    if (sum <= 0) {  // all arms that the sampler wants are used up, so any arm is taken
      std::copy(left.begin(), left.end(), chance.begin());
      sum = std::accumulate(chance.begin(), chance.end(), 0.0);
    }
    const std::size_t arm = pick(chance, arm_stream.uniform(held.size() + draws.size()));
    std::uint64_t prompt = order[arm].next();
    while (!taken.insert(prompt).second) prompt = order[arm].next();
    draws.push_back({{prompt}, 0, chance[arm] / sum / double(left[arm])});
    chosen_[prompt] = arm;
    --left[arm], ++pulled[arm];
  }
  repeat(*knowledge_, request.step, std::size_t(request.prompts), draws);
  return draws;
}

void ArmSampler::learn(const std::vector<GroupReport>& reports) {
  prepare();
  std::vector<std::vector<const GroupReport*>> by_arm(arms_);
  for (const GroupReport& report : reports) {
    const auto drawn_for = chosen_.find(report.id.prompt.value);
    by_arm[drawn_for == chosen_.end() ? arm_of(report.id.prompt) : drawn_for->second].push_back(
        &report);
  }
  chosen_.clear();
  observe(by_arm);
}

}  // namespace rollcall::scheduling
