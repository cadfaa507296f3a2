// The beginnings of rollouts: the guide's prefix, then a text of [openings], then the beginning of
// a derived prompt or of a tier of help.
#include "run/generation/openings.hpp"

#include "base/errors/error.hpp"
#include "core/derived_prompt.hpp"
#include "run/generation/guide.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rollcall::run {
namespace {

void append(const std::vector<std::int32_t>& more, std::vector<std::int32_t>& to) {
  to.insert(to.end(), more.begin(), more.end());
}

class AllOpenings final : public Openings {
 public:
  explicit AllOpenings(const RunContext& context) : context_(&context), guide_(context) {
    const RunConfig& config = context.config;
    is_words_ = config.openings.as == "prompt";
    if (is_words_) return;
    const std::int64_t guided = config.guide.share > 0.0 ? config.guide.max_tokens : 0,
                       most = config.sampling.max_new_tokens;
    for (const std::string& text : config.openings.texts) {
      texts_.push_back(context.texts.tokenizer->encode(text));
      const auto tokens = std::int64_t(texts_.back().size());
      require<ConfigError>(
          tokens + guided < most,
          fmt::format(
              "a text of openings.texts has {} tokens{}, and sampling.max_new_tokens is {}", tokens,
              guided > 0 ? fmt::format(", guide.max_tokens is {}", guided) : std::string(), most),
          "nothing would be left for the policy to say after it",
          "shorten the text, or raise sampling.max_new_tokens");
    }
  }

  std::vector<std::vector<RolloutOpening>> of(const StepPlan& plan,
                                              const PromptBook& book) override {
    const auto guided = guide_.prefixes(*context_, plan);
    std::vector<std::vector<RolloutOpening>> all(plan.groups.size());
    for (std::size_t g = 0; g < plan.groups.size(); ++g) {
      const GroupPlan& group = plan.groups[g];
      const auto given = book.given(plan.purpose, group.id, group.from);
      const bool has_texts = gives_texts(plan, group);
      if (guided[g].empty() && given.empty() && !has_texts) continue;
      for (std::uint32_t i = 0; i < group.count; ++i) {
        const std::uint32_t sample =
            group.samples.empty() ? group.first_sample + i : group.samples[i];
        RolloutOpening opening{.given = guided[g]};
        if (has_texts) {
          const auto& texts = context_->config.openings.texts;
          const std::size_t text = sample % texts.size();
          opening.number = std::int64_t(text) + 1;
          if (is_words_) opening.words = texts[text];
          else append(texts_[text], opening.given);
        }
        append(given, opening.given);
        if (book.learns_given(group.id)) opening.learnt = given.size();
        all[g].push_back(std::move(opening));
      }
    }
    return all;
  }

 private:
  /// Only rollouts that train begin with them, and only if the prompt is one of the task's and has
  /// no help.
  bool gives_texts(const StepPlan& plan, const GroupPlan& group) const {
    return !context_->config.openings.texts.empty() && plan.purpose == Purpose::train &&
           !is_derived(group.id.prompt) && group.from.tier == 0;
  }

  const RunContext* context_;
  Guide guide_;
  bool is_words_ = false;  ///< the texts of [openings] are words after the question
  std::vector<std::vector<std::int32_t>> texts_;  ///< as tokens, if answers begin with them
};

}  // namespace

std::unique_ptr<Openings> make_openings(const RunContext& context) {
  return std::make_unique<AllOpenings>(context);
}

}  // namespace rollcall::run
