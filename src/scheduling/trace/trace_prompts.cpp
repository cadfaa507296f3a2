// Makes the table from the first line. Later lines look prompts up in it.
#include "scheduling/trace/trace_prompts.hpp"

#include "scheduling/trace/trace_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>

namespace rollcall::scheduling {

using nlohmann::json;

namespace {

std::int32_t place(const std::vector<json>& ascending, const json& value) {
  return std::int32_t(std::lower_bound(ascending.begin(), ascending.end(), value) -
                      ascending.begin());
}

}  // namespace

PromptId TracePrompts::at(const json& id) const {
  if (dense_) {
    check_line(id.is_number_integer() && id >= 0 && id < *dense_,
               fmt::format("prompt {} is not in 0 .. {}", id.dump(), *dense_ - 1),
               "raise --prompts", "the policy keeps a table of all prompts");
    return {id.get<std::uint64_t>()};
  }
  const auto found = std::lower_bound(ids_.begin(), ids_.end(), id);
  check_line(found != ids_.end() && *found == id,
             fmt::format("prompt {} is not among the first line's candidates", id.dump()),
             "name it there, or give --prompts N for the prompts 0 .. N-1",
             "the policy's table of prompts is made from them");
  return {std::uint64_t(found - ids_.begin())};
}

void TracePrompts::make(const json& line) {
  table_ = {};
  const json& prompts = line.at("prompts");
  if (!dense_) {
    ids_.assign(prompts.begin(), prompts.end());
    std::sort(ids_.begin(), ids_.end());
  }
  const std::size_t size = dense_ ? *dense_ : ids_.size();
  table_.level.assign(size, 0);
  if (line.contains("levels")) {
    const json& levels = list(line.at("levels"), "levels", prompts.size());
    for (std::size_t i = 0; i < prompts.size(); ++i)
      table_.level[at(prompts[i]).value] = std::int32_t(whole(levels[i], "levels", 0, kMost32));
  }
  if (line.contains("domains")) {
    const json& domains = list(line.at("domains"), "domains", prompts.size());
    domains_.assign(domains.begin(), domains.end());
    std::sort(domains_.begin(), domains_.end());
    domains_.erase(std::unique(domains_.begin(), domains_.end()), domains_.end());
    table_.domain.assign(size, 0);
    for (std::size_t i = 0; i < prompts.size(); ++i)
      table_.domain[at(prompts[i]).value] = place(domains_, domains[i]);
  }
  if (!line.contains("priors")) return;
  table_.prior.assign(size, 0.5F);
  const auto priors = numbers(line.at("priors"), "priors", prompts.size());
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    check_line(priors[i] >= 0 && priors[i] <= 1, fmt::format("a prior of {}", priors[i]),
               "write success rates from 0 to 1");
    table_.prior[at(prompts[i]).value] = float(priors[i]);
  }
}

void TracePrompts::check_needs(const Scheduler& policy, const json& line) const {
  for (const Need& need : policy.traits().needs) {
    if (need.field != "prior" && need.field != "domain")
      continue;  // other needs concern results, which are checked when they arrive
    const std::string key = need.field + "s";
    check_line(
        line.contains(key) && line.at("prompts").size() == table_.size(),
        fmt::format(
            "the policy requires a {} of every prompt, and the first line does not state them",
            need.field),
        fmt::format("give \"{}\" there, one for each of its prompts, which are to be all", key),
        need.reason.c_str());
  }
}

void TracePrompts::compare(const json& line) const {
  const json& prompts = line.at("prompts");
  const auto same = [&](const char* key, const auto& known) {
    if (!line.contains(key)) return true;
    const auto values = numbers(line.at(key), key, prompts.size());
    for (std::size_t i = 0; i < prompts.size(); ++i) {
      const std::uint64_t p = at(prompts[i]).value;
      if (p >= known.size() ||
          double(known[p]) != double(typename std::decay_t<decltype(known)>::value_type(values[i])))
        return false;
    }
    return true;
  };
  const auto same_domains = [&] {
    if (!line.contains("domains")) return true;
    const json& values = list(line.at("domains"), "domains", prompts.size());
    for (std::size_t i = 0; i < prompts.size(); ++i) {
      const auto number = std::size_t(place(domains_, values[i]));
      if (number >= domains_.size() || domains_[number] != values[i] ||
          table_.domain[at(prompts[i]).value] != std::int32_t(number))
        return false;
    }
    return true;
  };
  check_line(same("levels", table_.level) && same("priors", table_.prior) && same_domains(),
             "\"levels\", \"priors\" or \"domains\" differ from the first line",
             "give them there, for every prompt that has one",
             "the policy's table of prompts is made from the first line");
}

}  // namespace rollcall::scheduling
