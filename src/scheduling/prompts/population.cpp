// Makes prompts with heavy-tailed difficulties, and labels with an error.
#include "scheduling/prompts/population.hpp"

#include "base/errors/error.hpp"
#include "base/numbers/random.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace rollcall::scheduling {
namespace {

constexpr double kLocation = 1.0, kScale = 1.5;  // of the difficulty: a third of the prompts are
                                                 // solved at skill 0
constexpr double kLabelNoise = 1.5;  // logits: an annotator's error is as large as the scale of the
                                     // difficulty
constexpr double kPriorNoise = 1.0;  // logits: error of a value model before the first step
enum Address : std::uint64_t { difficulty_of = 0, domain_of, label_of, prior_of };

RandomStream numbers(std::uint64_t seed, Address what, std::uint64_t prompt) {
  return {seed, RandomPurpose::task, what, prompt};
}

/// Student's t with 3 degrees of freedom. Its tails are heavy (there is no fourth moment), so a few
/// prompts are never solved.
double heavy_tailed(const RandomStream& stream) {
  double square = 0.0;
  for (std::uint64_t i = 1; i <= 3; ++i) square += stream.normal(i) * stream.normal(i);
  return stream.normal(0) / std::sqrt(square / 3.0);
}

/// [values] the fifth of the sorted values into which each falls, from 0; ties by index.
std::vector<std::int32_t> fifths(const std::vector<float>& value) {
  std::vector<std::uint32_t> order(value.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(),
            [&](auto a, auto b) { return std::pair(value[a], a) < std::pair(value[b], b); });
  std::vector<std::int32_t> fifth(value.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    fifth[order[i]] = std::int32_t(i * std::size_t(kSkillLevels) / order.size());
  return fifth;
}

}  // namespace

Population make_population(std::uint64_t prompts, std::uint64_t seed) {
  require<ConfigError>(
      prompts >= 5 && prompts < (std::uint64_t{1} << 32), "too few or too many prompts to simulate",
      "prompts are divided into fifths and numbered with 32 bits", "choose from 5 to 4e9 prompts");
  Population population;
  std::vector<float> label;
  for (std::uint64_t p = 0; p < prompts; ++p) {
    const double d = kLocation + kScale * heavy_tailed(numbers(seed, difficulty_of, p));
    population.difficulty.push_back(float(d));
    label.push_back(float(d + kLabelNoise * numbers(seed, label_of, p).normal(0)));
    population.table.prior.push_back(
        float(1.0 / (1.0 + std::exp(d + kPriorNoise * numbers(seed, prior_of, p).normal(0)))));
    population.table.domain.push_back(
        std::int32_t(numbers(seed, domain_of, p).below(0, std::uint64_t(kSkillDomains))));
  }
  const auto fifth = fifths(population.difficulty);
  population.table.level = fifths(label);
  for (auto& level : population.table.level) ++level;
  for (std::uint64_t p = 0; p < prompts; ++p) {
    population.cell.push_back(std::uint8_t(population.table.domain[p] * kSkillLevels + fifth[p]));
    population.hard.push_back(fifth[p] + 1 == kSkillLevels ? 1 : 0);
  }
  return population;
}

std::unique_ptr<Scheduler> make_scheduler(const SchedulerChoice& choice, const Knobs& knobs,
                                          const Population& population, std::uint64_t seed) {
  PromptTable without_priors = population.table;
  without_priors.prior.clear();
  auto policy = make_scheduler(choice, knobs, std::move(without_priors), seed);
  const auto& needs = policy->traits().needs;
  const bool prior = std::any_of(needs.begin(), needs.end(),
                                 [](const Need& need) { return need.field == "prior"; });
  return prior ? make_scheduler(choice, knobs, population.table, seed) : std::move(policy);
}

}  // namespace rollcall::scheduling
