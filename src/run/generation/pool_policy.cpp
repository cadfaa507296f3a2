// Packs the host's weights, which have the newest version.
#include "run/generation/pool_policy.hpp"

#include "run/context/run_context.hpp"

namespace rollcall::run {

const model::PolicyModel& PoolPolicy::of(const RunContext& context, const StepPlan& plan) {
  const PolicyStore& store = *context.store;
  const std::string& numerics = context.config.second_pass.numerics;
  const bool is_pool = !plan.groups.empty() && plan.groups.front().from.kind == DerivedKind::pool;
  if (!is_pool || numerics.empty() || numerics == context.config.run.numerics)
    return store.policy();
  if (!packed_ || packed_->version() != store.version())
    packed_.emplace(
        store.config(), store.shared_weights(), store.version(), &find_kernels(numerics),
        model::Threads{context.threads.pool->threads(), context.threads.pool->side_by_side()});
  return *packed_;
}

}  // namespace rollcall::run
