// Cuts the groups of a round and the files of an update into shares, and sends each share with the
// parts that all shares have in common.
#include "run/coordinator/steps/step_plans.hpp"

#include "run/context/prompt_book.hpp"
#include "run/step/step_batch.hpp"
#include "sizing/aggregators.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>

namespace rollcall::run {
namespace {

std::int64_t rollouts_of(std::span<const GroupPlan> groups) {
  const auto add = [](std::int64_t sum, const GroupPlan& group) { return sum + group.count; };
  return std::accumulate(groups.begin(), groups.end(), std::int64_t{0}, add);
}

/// The places where the shards of a round will be stored.
struct Storing {
  std::vector<int> ranks;             ///< generation ranks with a share, ascending
  std::vector<int> by;                ///< [ranks] world rank that stores the shard of each rank
  std::vector<std::uint32_t> shards;  ///< [world ranks] number of shards that each rank stores
};

Storing storing_of(const std::vector<std::span<const GroupPlan>>& shares,
                   const comm::StageLayout& layout, std::int64_t answer_tokens, bool together) {
  const auto& generators = layout.of(comm::Stage::generation);
  Storing storing;
  std::int64_t largest = 0;  // rollouts of the largest share
  for (std::size_t i = 0; i < shares.size(); ++i) {
    if (shares[i].empty()) continue;
    storing.ranks.push_back(generators[i]);
    largest = std::max(largest, rollouts_of(shares[i]));
  }
  const bool fits = largest * std::int64_t(sizing::kMostAggregated) * answer_tokens <=
                    sizing::kMostAggregatedTokens;
  storing.by = together && fits ? sizing::aggregators(layout, storing.ranks) : storing.ranks;
  storing.shards.resize(std::size_t(layout.ranks));
  for (const int rank : storing.by) ++storing.shards[std::size_t(rank)];
  return storing;
}

}  // namespace

std::vector<std::span<const GroupPlan>> deal(std::span<const GroupPlan> groups, std::size_t ranks) {
  const auto total = std::max<std::uint64_t>(std::uint64_t(rollouts_of(groups)), 1);
  std::uint64_t before = 0;
  std::vector<std::span<const GroupPlan>> shares(ranks);
  for (const GroupPlan& group : groups) {
    auto& share = shares[std::min<std::size_t>(ranks - 1, before * ranks / total)];
    share = {share.empty() ? &group : share.data(), share.size() + 1};
    before += group.count;
  }
  return shares;
}

std::size_t send_round(Mailbox& mail, const comm::StageLayout& layout, StepPlan plan,
                       const StepTimes& times, bool together, std::int64_t answer_tokens) {
  const auto groups = std::move(plan.groups);
  const auto derived = std::move(plan.derived);
  RoundPlan share{std::move(plan), times};  // the parts that all shares have in common
  const auto shares = deal(groups, layout.of(comm::Stage::generation).size());
  const auto storing = storing_of(shares, layout, answer_tokens, together);
  std::size_t files = 0, sent = 0;
  for (const auto& stretch : shares) {
    if (stretch.empty()) continue;
    const int rank = storing.ranks[sent], by = storing.by[sent];
    ++sent;
    share.groups.assign(stretch.begin(), stretch.end());
    share.derived = asked_by(stretch, derived);
    share.aggregator = by;
    share.aggregated = storing.shards[std::size_t(by)];
    files += rank == by ? 1 : 0;
    mail.send(rank, Tag::plan, share);
  }
  return files;
}

void send_update(Mailbox& mail, const std::vector<int>& ranks, UpdatePlan head,
                 std::vector<ScoredFile> files, std::vector<scheduling::GroupTraining> training) {
  auto shares = shared_out(std::move(files), ranks);
  std::vector<int> without;  // ranks without files to read, which all get the same plan
  UpdatePlan first = head;
  for (std::size_t i = 1; i < ranks.size(); ++i) {
    if (shares[i].empty()) without.push_back(ranks[i]);
    first.others.insert(first.others.end(), shares[i].begin(), shares[i].end());
  }
  first.files = std::move(shares.front());
  first.training = std::move(training);
  mail.send(ranks.front(), Tag::update, first);
  for (std::size_t i = 1; i < ranks.size(); ++i) {
    if (shares[i].empty()) continue;
    head.files = std::move(shares[i]);
    mail.send(ranks[i], Tag::update, head);
  }
  head.files.clear();
  mail.send_all(without, Tag::update, head);
}

}  // namespace rollcall::run
