// Posterior draws addressed by (step, prompt); evidence fades lazily.
#include "scheduling/sampler/thompson_variance.hpp"

#include "base/text/json.hpp"
#include "scheduling/prompts/outcomes.hpp"

#include <algorithm>
#include <cmath>

namespace rollcall::scheduling {

void ThompsonVarianceSampler::bind(ConfigSchema& s) {
  s.bind("fade_all", &fade_all_,
         "share of a prompt's evidence that a step takes away which does not sample it", {0, 1});
  s.bind("fade_sampled", &fade_sampled_,
         "share of its older evidence that a prompt loses when a step samples it", {0, 1});
}

double ThompsonVarianceSampler::kept(std::uint64_t from, std::uint64_t to) const {
  return to > from + 1 ? std::pow(1.0 - fade_all_, double(to - from - 1)) : 1.0;
}

std::vector<double> ThompsonVarianceSampler::scores(const StepRequest& request) {
  const RandomStream stream =
      knowledge().random(request.step, std::uint64_t(SamplerUse::posterior));
  std::vector<double> score(knowledge().size());
  for (std::uint64_t p = 0; p < score.size(); ++p) {
    const auto known = counts_.find(p);
    const BetaCounts c = known == counts_.end() ? BetaCounts{} : known->second;
    const double keep = kept(c.step, request.step),
                 rate = draw_beta(stream, p, 1.0 + keep * c.right, 1.0 + keep * c.wrong);
    score[p] = rate * (1.0 - rate) * (1.0 - rate);
  }
  return score;
}

void ThompsonVarianceSampler::learn(const std::vector<GroupReport>& reports) {
  for (const GroupReport& report : reports) {
    BetaCounts& c = counts_[report.id.prompt.value];
    const double keep = kept(c.step, report.id.step) * (1.0 - fade_sampled_);
    c = {keep * c.right + right(report),
         keep * c.wrong + double(report.correct.size()) - right(report), report.id.step};
  }
}

nlohmann::json ThompsonVarianceSampler::save() const { return {{"counts", beta_rows(counts_)}}; }
void ThompsonVarianceSampler::load(const nlohmann::json& state) {
  counts_ = beta_table(state.at("counts"));
}

}  // namespace rollcall::scheduling
