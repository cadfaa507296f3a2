// Packing, and what all prompts begin with.
#include "stages/leaf_packing.hpp"

#include "base/error.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace rollcall::stages {

bool LeafPacker::shares_prompt(const std::vector<std::int32_t>& prompt) const {
  if (prompt_ < 0) return false;
  const auto first = leaf_->tokens.begin() + leaf_->offsets[std::size_t(prompt_)], last = leaf_->tokens.begin() + leaf_->offsets[std::size_t(prompt_) + 1];
  return std::equal(first, last, prompt.begin() + std::ptrdiff_t(head_.size()), prompt.end());
}

std::int64_t LeafPacker::tokens_of(const Rollout& rollout) const {
  std::int64_t count = 0;
  for (const auto& turn : rollout.turns) count += std::int64_t(turn.tokens.size());
  if (shares_prompt(rollout.turns.front().tokens)) return count - std::int64_t(rollout.turns.front().tokens.size());
  return leaf_->tokens.empty() ? count : count - std::int64_t(head_.size());
}

void LeafPacker::append(const Rollout& rollout) {
  const auto end_sequence = [&](std::int64_t parent) {
    leaf_->offsets.push_back(std::int64_t(leaf_->tokens.size()));
    leaf_->parents.push_back(parent);
  };
  if (leaf_->offsets.empty()) leaf_->offsets.push_back(0);
  const auto& prompt = rollout.turns.front().tokens;
  expect(rollout.turns.front().role == Role::prompt && !prompt.empty(), "a rollout begins with its prompt");
  if (leaf_->tokens.empty() && !head_.empty()) {
    leaf_->tokens.assign(head_.begin(), head_.end());
    end_sequence(-1);
  }
  if (!shares_prompt(prompt)) {
    prompt_ = std::int64_t(leaf_->parents.size());
    leaf_->tokens.insert(leaf_->tokens.end(), prompt.begin() + std::ptrdiff_t(head_.size()), prompt.end());
    end_sequence(head_.empty() ? -1 : 0);
  }
  for (auto turn = rollout.turns.begin() + 1; turn != rollout.turns.end(); ++turn) {
    for (const std::int32_t token : turn->tokens) {
      if (turn->role == Role::policy) leaf_->targets.push_back(std::int64_t(leaf_->tokens.size()));
      leaf_->tokens.push_back(token);
    }
  }
  end_sequence(prompt_);
}

namespace {

constexpr std::size_t kLeastHead = 16;  // tokens that are worth a sequence of their own

/// A rollout that is trained on, and its columns [first, first + count) among those of all.
struct Trained {
  const Rollout* rollout;
  std::size_t first, count;
  const std::vector<std::int32_t>& prompt() const { return rollout->turns.front().tokens; }
};

/// What their prompts begin with, all but the last token of the shortest; nothing where that is short, or where there is one prompt.
std::span<const std::int32_t> common_beginning(std::span<const Trained> all) {
  if (all.empty()) return {};
  const std::vector<std::int32_t>& first = all.front().prompt();
  std::size_t common = first.size();
  bool several = false;
  for (const Trained& one : all) {
    const auto& prompt = one.prompt();
    expect(!prompt.empty(), "a rollout begins with its prompt");
    several = several || prompt != first;
    const auto alike = std::size_t(std::mismatch(prompt.begin(), prompt.end(), first.begin(), first.end()).first - prompt.begin());
    common = std::min({common, alike, prompt.size() - 1});
  }
  return several && common >= kLeastHead ? std::span(first).first(common) : std::span<const std::int32_t>();
}

}  // namespace

std::vector<BackwardLeaf> backward_leaves(const StepBatch& batch, const std::vector<std::size_t>& groups, const model::ColumnGradient& derivative,
                                          std::span<const float> logprob, std::int64_t leaf_tokens) {
  const auto part = [](auto& values, const Trained& of) { return std::span(values).subspan(of.first, of.count); };
  const auto append = [](std::vector<float>& to, std::span<const float> values) { to.insert(to.end(), values.begin(), values.end()); };
  const auto is_zero = [](std::span<const float> values) { return std::all_of(values.begin(), values.end(), [](float value) { return value == 0.0F; }); };
  std::vector<Trained> trained;
  std::size_t at = 0;
  for (const std::size_t g : groups) {
    for (const Rollout& rollout : batch.groups[g].rollouts) {
      const auto count = std::size_t(policy_tokens(rollout));
      const Trained one{&rollout, std::exchange(at, at + count), count};
      if (!is_zero(part(derivative.logprob, one)) || !is_zero(part(derivative.entropy, one))) trained.push_back(one);
    }
  }
  expect(at == derivative.logprob.size() && at == logprob.size(), "every policy token has a derivative");
  const auto head = common_beginning(trained);
  std::vector<BackwardLeaf> leaves;
  std::optional<LeafPacker> packer;
  for (const Trained& one : trained) {
    const std::int64_t growth = packer ? packer->tokens_of(*one.rollout) : 0;
    if (!packer || std::int64_t(leaves.back().leaf.tokens.size()) + growth > leaf_tokens) {
      const bool cut = packer.has_value();
      packer.emplace(leaves.emplace_back().leaf, head);
      if (cut) leaves.back().repeated = packer->tokens_of(*one.rollout) - growth;
    }
    packer->append(*one.rollout);
    append(leaves.back().derivative.logprob, part(derivative.logprob, one)), append(leaves.back().derivative.entropy, part(derivative.entropy, one));
    append(leaves.back().logprob, part(logprob, one));
  }
  return leaves;
}

}  // namespace rollcall::stages
