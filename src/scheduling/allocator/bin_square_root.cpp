// Square roots of the bins' fading reward variances, which apportion() turns into counts.
#include "scheduling/allocator/bin_square_root.hpp"

#include "base/errors/error.hpp"
#include "base/text/json.hpp"

#include <algorithm>
#include <cmath>

namespace rollcall::scheduling {

void BinSquareRootAllocator::bind(ConfigSchema& s) {
  s.bind("variance_beta", &beta_, "share of a step in a bin's reward variance", {0, 1});
  s.bind("variance_floor", &variance_floor_,
         "least reward variance assumed, so that no bin starves", {1e-12, 1e6});
  s.bind("prior_variance", &prior_variance_, "reward variance assumed of a bin without results",
         {1e-12, 1e6});
}

std::vector<std::int64_t> BinSquareRootAllocator::counts(const StepRequest& request,
                                                         const std::vector<GroupPlan>& groups) {
  std::vector<double> weight(groups.size());
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const auto b = std::size_t(knowledge_->history.bins().of(groups[i].id.prompt));
    weight[i] =
        std::sqrt(std::max(b < variance_.size() ? variance_[b] : prior_variance_, variance_floor_));
  }
  return apportion(weight, request.budget, request.min_rollouts, request.max_rollouts);
}

void BinSquareRootAllocator::learn(const std::vector<GroupReport>&) {
  const BinResults& results = knowledge_->latest();
  variance_.resize(results.groups.size(), prior_variance_);
  for (std::size_t b = 0; b < variance_.size(); ++b) {
    if (std::isfinite(results.variance[b]))
      variance_[b] = (1.0 - beta_) * variance_[b] + beta_ * results.variance[b];
  }
}

nlohmann::json BinSquareRootAllocator::save() const { return {{"variance", variance_}}; }

void BinSquareRootAllocator::load(const nlohmann::json& state) {
  auto variance = state.at("variance").get<std::vector<double>>();
  require<StorageError>(variance.empty() || variance.size() == knowledge_->history.bins().size(),
                        "the saved variances have another number of difficulty bins",
                        "the run would not continue where it stopped",
                        "resume with the knobs it was started with");
  variance_ = std::move(variance);
}

}  // namespace rollcall::scheduling
