// Fills splits with distinct prompts.
#include "task/generate.hpp"

#include "base/errors/error.hpp"
#include "base/errors/log.hpp"
#include "base/errors/nearest.hpp"
#include "base/numbers/hash.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_set>

namespace rollcall::task {
namespace {

// "rollcall" in ASCII. It must never change, or old and new runs would mix their splits.
constexpr std::uint64_t kSplitSalt = 0x726f6c6c63616c6cU;
constexpr int kMisses = 1000;  // draws; the last new text among N equally likely ones is found with
                               // probability 1 - exp(-1000 / N)

LevelLaw known_levels(const Generator& generator, const TaskSection& section) {
  const std::int64_t low = std::max(section.min_level, generator.lowest),
                     high = std::min(section.max_level, generator.highest);
  require<ConfigError>(low <= high,
                       fmt::format("{} has no level from {} to {}", generator.name,
                                   section.min_level, section.max_level),
                       fmt::format("its levels are {} to {}", generator.lowest, generator.highest),
                       "change task.min_level and task.max_level");
  if (low != section.min_level || high != section.max_level) {
    log_info("{} uses levels {} to {} of the {} to {} asked for", generator.name, low, high,
             section.min_level, section.max_level);
  }
  return {low, high, section.tail_exponent};
}

struct SplitDraw {
  const Generator& generator;
  std::uint64_t seed;
  Split split;
  LevelLaw law;
  std::unordered_set<std::string> seen{};

  RandomStream stream(std::uint64_t index, std::uint64_t attempt) const {
    return {seed, RandomPurpose::task, std::uint64_t(split), index, attempt};
  }

  std::optional<Prompt> draw(std::uint64_t index) {
    for (std::uint64_t attempt = 0; !law.empty();) {
      const std::int64_t level = law.at(stream(index, attempt).uniform(0));
      for (const std::uint64_t end = attempt + kMisses; attempt < end; ++attempt) {
        Draws draws(stream(index, attempt));
        auto item = generator.draw(level, draws);
        if (!item) continue;
        const std::string& problem = item->problem.empty() ? item->text : item->problem;
        if (split_of(problem) != split || !seen.insert(problem).second) continue;
        const std::int32_t reached = item->level > 0 ? item->level : std::int32_t(level);
        return Prompt{{index},
                      split,
                      reached,
                      std::move(item->text),
                      std::move(item->answer),
                      std::move(item->solution),
                      std::move(item->domain)};
      }
      law.drop(level);
    }
    return std::nullopt;
  }
};

std::vector<Prompt> fill(SplitDraw draw, std::int64_t wanted, const char* split_name) {
  std::vector<Prompt> prompts;
  while (std::int64_t(prompts.size()) < wanted) {
    auto prompt = draw.draw(prompts.size());
    if (!prompt) {
      log_warning(
          "{}: only {} different {} prompts found of {} wanted; widen task.min_level .. task.max_level for more",
          draw.generator.name, prompts.size(), split_name, wanted);
      break;
    }
    prompts.push_back(std::move(*prompt));
  }
  return prompts;
}

}  // namespace

void check_wordings(const char* task, const std::vector<std::string>& wanted,
                    const std::vector<std::string>& known) {
  require<ConfigError>(!wanted.empty(), "task.wording is empty", "prompts need a wording",
                       "name one, for example plain");
  for (const auto& name : wanted) {
    require<ConfigError>(std::find(known.begin(), known.end(), name) != known.end(),
                         fmt::format("task.wording \"{}\" is unknown to {}", name, task),
                         "prompts could not be written", suggest_name(name, known));
  }
}

const std::string& draw_wording(const std::vector<std::string>& wanted, Draws& draws) {
  return wanted.size() == 1 ? wanted.front()
                            : wanted[std::size_t(draws.below(std::int64_t(wanted.size())))];
}

std::uint64_t content_hash(std::string_view text) { return checksum64(text, kSplitSalt); }

Split split_of(std::string_view text) {
  const std::uint64_t tenth = content_hash(text) % 10;
  return tenth < 8 ? Split::train : tenth == 8 ? Split::validation : Split::heldout;
}

namespace {
std::vector<Prompt>& prompts_of(PromptSet& set, Split split) {
  return split == Split::train        ? set.train
         : split == Split::validation ? set.validation
                                      : set.heldout;
}
}  // namespace

bool wants(PromptSet& set, Split split, const TaskSection& section) {
  const auto wanted = split == Split::train        ? section.train_prompts
                      : split == Split::validation ? section.validation_prompts
                                                   : section.heldout_prompts;
  return std::int64_t(prompts_of(set, split).size()) < wanted;
}

void keep(PromptSet& set, Prompt prompt, Split split, const TaskSection& section) {
  if (!wants(set, split, section)) return;
  auto& to = prompts_of(set, split);
  prompt.id = {to.size()};
  prompt.split = split;
  to.push_back(std::move(prompt));
}

void tell_shortages(const char* task, const PromptSet& set, const TaskSection& section) {
  const auto tell = [&](const std::vector<Prompt>& prompts, std::int64_t wanted,
                        const char* split_name) {
    if (std::int64_t(prompts.size()) < wanted)
      log_warning("{}: only {} {} prompts found of {} wanted", task, prompts.size(), split_name,
                  wanted);
  };
  tell(set.train, section.train_prompts, "training");
  tell(set.validation, section.validation_prompts, "validation");
  tell(set.heldout, section.heldout_prompts, "held-out");
}

std::string hash_of(const PromptSet& set) {
  Sha256 digest;
  for (const auto* split : {&set.train, &set.validation, &set.heldout}) {
    digest.add(fmt::format("{} prompts\n", split->size()));
    for (const Prompt& p : *split) {
      // Hashes the lengths first, so that moving a character from one field to the next changes the
      // digest.
      digest.add(fmt::format("{} {} {} {} {} {}\n", p.id.value, int(p.split), p.level,
                             p.text.size(), p.answer.size(), p.solution.size()));
      digest.add(p.text).add(p.answer).add(p.solution);
      if (!p.domain.empty()) digest.add(fmt::format("\ndomain {} {}", p.domain.size(), p.domain));
      if (!std::isnan(p.prior)) digest.add(fmt::format("\nprior {}", p.prior));
      if (!p.conversation.empty())
        digest.add(fmt::format("\nconversation {} {}", p.conversation.size(), p.conversation));
    }
  }
  return digest.hex();
}

LevelLaw::LevelLaw(std::int64_t low, std::int64_t high, double exponent) {
  for (std::int64_t level = low; level <= high; ++level) {
    levels_.push_back(level);
    // the largest weight is 1, so none overflows
    weights_.push_back(std::pow(double(level) / double(exponent > 0 ? low : high), -exponent));
  }
}

std::int64_t LevelLaw::at(double u) const {
  double left = u * std::accumulate(weights_.begin(), weights_.end(), 0.0);
  for (std::size_t i = 0; i + 1 < levels_.size(); ++i) {
    if (left < weights_[i]) return levels_[i];
    left -= weights_[i];
  }
  return levels_.back();
}

void LevelLaw::drop(std::int64_t level) {
  const auto at = std::find(levels_.begin(), levels_.end(), level) - levels_.begin();
  levels_.erase(levels_.begin() + at);
  weights_.erase(weights_.begin() + at);
}

PromptSet generate(const Generator& generator, const TaskSection& section, std::uint64_t seed) {
  const LevelLaw law = known_levels(generator, section);
  PromptSet set;
  set.train = fill({generator, seed, Split::train, law}, section.train_prompts, "training");
  set.validation =
      fill({generator, seed, Split::validation, law}, section.validation_prompts, "validation");
  set.heldout = fill({generator, seed, Split::heldout, law}, section.heldout_prompts, "held-out");
  set.hash = hash_of(set);
  return set;
}

}  // namespace rollcall::task
