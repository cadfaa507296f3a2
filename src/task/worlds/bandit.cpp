// Machines, one of which pays more often than the others and is to be found by pulling their arms.
#include "task/worlds/bandit.hpp"

#include "base/text/foreign_json.hpp"
#include "base/text/json.hpp"
#include "task/generate.hpp"
#include "task/sources.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace rollcall::task {
namespace {

using nlohmann::json;

constexpr std::size_t kMostArms = 64;
constexpr std::int64_t kMostPulls = 4096, kPullsOfAnArm = 4;
constexpr const char* kRules =
    "Each of these machines pays 1 or nothing when its arm is pulled, and one of them pays more often than the others. You see how often each has paid, how often it was pulled, and "
    "how many pulls are left. Say the name of one machine a turn and nothing else: its arm is pulled. Let them pay as often as you can.\n";

std::int64_t sum(const std::vector<std::int64_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
}

bool is_name(const std::string& name) {
  return !name.empty() && name.size() <= kMostArms &&
         std::all_of(name.begin(), name.end(), [](char c) { return c >= 'a' && c <= 'z'; });
}

/// A list of `size` numbers from 0 to `most`.
bool read_counts(const json& list, std::size_t size, std::int64_t most,
                 std::vector<std::int64_t>& counts) {
  if (!list.is_array() || list.size() != size) return false;
  for (const json& count : list) {
    if (!count.is_number_integer() || count < 0 || count > most) return false;
    counts.push_back(count.get<std::int64_t>());
  }
  return true;
}

std::optional<Bandit> read_machines(const json& object) {
  if (!object.contains("arms") || !object.contains("pulls")) return std::nullopt;
  const json &arms = object["arms"], &pulls = object["pulls"];
  if (!arms.is_array() || arms.size() < 2 || arms.size() > kMostArms ||
      !pulls.is_number_integer() || pulls < 1 || pulls > kMostPulls)
    return std::nullopt;
  Bandit bandit;
  bandit.pulls = pulls.get<std::int64_t>();
  for (const json& arm : arms) {
    if (!arm.is_string() || !is_name(arm.get<std::string>())) return std::nullopt;
    bandit.arms.push_back(arm.get<std::string>());
  }
  return bandit;
}

std::optional<Item> draw_bandit(const TaskSection& section, std::int64_t level, Draws& draws) {
  constexpr std::string_view kConsonants = "bdfgklmnprst", kVowels = "aeiou";
  Bandit bandit;
  while (std::int64_t(bandit.arms.size()) < level) {
    const std::string name{draws.one_of(kConsonants), draws.one_of(kVowels)};
    if (std::find(bandit.arms.begin(), bandit.arms.end(), name) == bandit.arms.end())
      bandit.arms.push_back(name);
  }
  bandit.pulls = kPullsOfAnArm * level;
  bandit.pulled.assign(bandit.arms.size(), 0);
  bandit.paid = bandit.pulled;
  Item item{view_of(bandit), reference_of(bandit), bandit.arms.front()};
  item.problem = item.text;
  if (draw_wording(section.wording, draws) == "question") item.text = kRules + item.text;
  return item;
}

}  // namespace

std::int64_t Bandit::left() const { return pulls - sum(pulled); }

std::string text_of(const Bandit& bandit) {
  return json{{"arms", bandit.arms},
              {"best", bandit.best},
              {"paid", bandit.paid},
              {"pulled", bandit.pulled},
              {"pulls", bandit.pulls}}
      .dump();
}

std::string reference_of(const Bandit& bandit) {
  return json{{"arms", bandit.arms}, {"pulls", bandit.pulls}}.dump();
}

std::optional<Bandit> read_bandit(std::string_view state) {
  std::string fault;
  const json object = parse_foreign<json>(state, fault);
  if (!fault.empty()) return std::nullopt;
  auto bandit = read_machines(object);
  if (!bandit || !object.contains("best") || !object.contains("pulled") || !object.contains("paid"))
    return std::nullopt;
  const json& best = object["best"];
  const std::size_t arms = bandit->arms.size();
  if (!best.is_number_integer() || best < 0 || best >= std::int64_t(arms) ||
      !read_counts(object["pulled"], arms, bandit->pulls, bandit->pulled) ||
      !read_counts(object["paid"], arms, bandit->pulls, bandit->paid) || bandit->left() < 1)
    return std::nullopt;
  for (std::size_t arm = 0; arm < arms; ++arm)
    if (bandit->paid[arm] > bandit->pulled[arm]) return std::nullopt;
  bandit->best = best.get<std::int64_t>();
  return bandit;
}

std::optional<Bandit> read_bandit_reference(std::string_view reference) {
  std::string fault;
  const json object = parse_foreign<json>(reference, fault);
  if (!fault.empty()) return std::nullopt;
  auto bandit = read_machines(object);
  if (!bandit) return std::nullopt;
  bandit->pulled.assign(bandit->arms.size(), 0);
  bandit->paid = bandit->pulled;
  return bandit;
}

std::string view_of(const Bandit& bandit) {
  std::string seen;
  for (std::size_t arm = 0; arm < bandit.arms.size(); ++arm)
    seen += fmt::format("{} {}/{} ", bandit.arms[arm], bandit.paid[arm], bandit.pulled[arm]);
  return fmt::format("{}{}>", seen, bandit.left());
}

PromptSet make_bandit(const TaskSection& section, std::uint64_t seed) {
  check_wordings("bandit", section.wording, {"plain", "question"});
  return generate(
      {"bandit", 2, 10,
       [&](std::int64_t level, Draws& draws) { return draw_bandit(section, level, draws); }},
      section, seed);
}

}  // namespace rollcall::task
