// The step's events: plans, decoding, shards, scores, the update with its collectives, the new
// weights.
#include "sizing/scale/job_step.hpp"

#include "base/random.hpp"
#include "sizing/aggregators.hpp"
#include "sizing/micro_batch_count.hpp"
#include "sizing/scale/events.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <utility>

namespace rollcall::sizing::scale {
namespace {

using comm::Stage;
using Then = Events::Then;

// of a plan: settings, a group, a file (step_plans.hpp)
constexpr double kHeadBytes = 200.0, kGroupBytes = 36.0, kFileRowBytes = 200.0;
constexpr double kRolloutBytes = 160.0;  // columns of a rollout without its tokens (forecast.cpp)
constexpr double kTokenBytes = 20.0;     // and of a token
constexpr double kSumBytes = 8.0, kWeightBytes = 4.0;  // int64 gradient sum; fp32 weight
constexpr double kLook_s = 0.25e-3;  // mean wait until a rank that nobody wakes looks again
                                     // (comm/backoff.hpp)

/// What a generation rank has to do.
struct Share {
  std::int64_t longest = 0, tokens = 0, rollouts = 0, groups = 0;
};

class Step {
 public:
  Step(const Cluster& cluster, const Workload& work, const Costs& costs);
  StepTimes run();

 private:
  enum class Kind { compute, exchange };
  int ranks() const { return cluster_.layout.ranks; }
  int nodes() const { return int(nodes_.size()); }
  const std::vector<int>& of(Stage stage) const { return cluster_.layout.of(stage); }
  void deal();
  void serve(int rank, double core_s, Kind kind, Then then);
  void send(int from, int to, double bytes, Then then);
  void send_each(const std::vector<int>& to, const std::function<double(int)>& bytes,
                 const std::function<void(int)>& receive);
  void collective(int rank, double bytes, Then then);
  double turn_s(int rank) const {
    return generating_[std::size_t(rank / cluster_.ranks_per_node)] * cluster_.threads >
                   cluster_.cores_per_node
               ? costs_.turn
               : 0.0;
  }
  double look_s() const { return nodes() > 1 ? kLook_s : 0.0; }
  double network_s(double bytes) const {
    return nodes() > 1 && cluster_.bytes_per_s > 0 ? bytes / cluster_.bytes_per_s : 0.0;
  }

  void schedule();
  void generate(std::size_t index);
  void hand_shard(int rank, std::size_t index);
  void take_in(int rank);
  void publish_shard(int rank, std::size_t index);
  void tell_scored(int rank);
  void rest(int rank) {
    idle_[std::size_t(rank)] = {events_.now(), times_.ranks[std::size_t(rank)].exchange};
  }
  void hear_scored();
  void start_update();
  void update(int rank, std::size_t index);
  double own_micro_batches_s(std::int64_t index) const;
  void train(int rank, std::size_t index);
  void finish_update(int rank);
  void send_weights();

  Cluster cluster_;
  Workload work_;
  Costs costs_;
  Events events_;
  std::vector<Cores> nodes_;
  std::vector<Share> shares_;    ///< [generation ranks]
  std::vector<int> generating_;  ///< [nodes] ranks that have a share
  bool kept_ = false;            ///< ranks update on what they have judged
  struct File {
    std::size_t parts = 0, there = 0;  ///< shards of one aggregator
    std::int64_t rollouts = 0;
    std::vector<std::int64_t> waiting{};  ///< rollouts of shards that have come
    bool open = false, busy = false;      ///< once it has generated its own; while it takes some in
  };
  std::map<int, File> files_;                           ///< by aggregator, where shards are kept
  std::vector<int> storing_;                            ///< [generation ranks] aggregator of each
  std::size_t sharing_ = 0;                             ///< ranks that have a share
  std::size_t expected_ = 0, heard_ = 0, in_hand_ = 0;  ///< notices
  bool collecting_ = false;
  std::size_t waiting_ = 0;  ///< notices that rank 0 has not looked at
  double tokens_ = 0.0;      ///< of all responses
  double last_generated_ = 0.0, reading_from_ = 0.0, updating_from_ = 0.0;
  struct Idle {
    double from = 0.0, exchange = 0.0;  ///< time, and what the rank had exchanged by then: rank 0
                                        ///< still hears notices
  };
  std::vector<Idle> idle_;  ///< [ranks] since it had nothing more to do before the update
  std::size_t updated_ = 0;
  struct Arrival {
    int rank;
    double time;
    Then then;
  };
  std::vector<Arrival> arrived_;  ///< at the collective in progress
  StepTimes times_;
};

Step::Step(const Cluster& cluster, const Workload& work, const Costs& costs)
    : cluster_(cluster), work_(work), costs_(costs) {
  cluster_.layout.nodes.clear();
  for (int rank = 0; rank < ranks(); ++rank)
    cluster_.layout.nodes.push_back(rank / cluster.ranks_per_node * cluster.ranks_per_node);
  const int count = (ranks() + cluster.ranks_per_node - 1) / cluster.ranks_per_node;
  for (int i = 0; i < count; ++i)
    nodes_.emplace_back(events_, double(cluster.cores_per_node) / cluster.threads, costs.crowding);
  times_.ranks.resize(std::size_t(ranks()));
  idle_.resize(std::size_t(ranks()));
  deal();
}

/// As Coordinator deals: whole groups in order, a rank's by the rollouts before them.
void Step::deal() {
  shares_.resize(of(Stage::generation).size());
  const RandomStream stream(work_.seed, RandomPurpose::test);
  const auto n = std::uint64_t(work_.rollouts), groups = std::uint64_t(work_.prompts),
             generators = std::uint64_t(shares_.size());
  for (std::uint64_t g = 0, r = 0; g < groups; ++g) {
    Share& share = shares_[std::min(generators - 1, r * generators / n)];
    share.groups += 1;
    for (const std::uint64_t end = (g + 1) * n / groups; r < end; ++r) {
      const std::int64_t length = work_.lengths[stream.below(r, work_.lengths.size())];
      share.longest = std::max(share.longest, length), share.tokens += length, ++share.rollouts;
      tokens_ += double(length);
    }
  }
  generating_.resize(nodes_.size());
  std::vector<int> sharing;
  for (std::size_t i = 0; i < shares_.size(); ++i) {
    if (shares_[i].rollouts == 0) continue;
    sharing.push_back(of(Stage::generation)[i]);
    ++generating_[std::size_t(sharing.back() / cluster_.ranks_per_node)];
  }
  sharing_ = expected_ = sharing.size();
  kept_ = of(Stage::generation) == of(Stage::update) && of(Stage::scoring) == of(Stage::update);
  if (!kept_) return;
  storing_.resize(shares_.size());
  const auto storing = aggregators(cluster_.layout, sharing);
  for (std::size_t at = 0, i = 0; i < shares_.size(); ++i) {
    if (shares_[i].rollouts == 0) continue;
    File& file = files_[storing_[i] = storing[at++]];
    ++file.parts, file.rollouts += shares_[i].rollouts;
  }
  expected_ = files_.size();
}

/// A rank's own work; its wall time is noted.
void Step::serve(int rank, double core_s, Kind kind, Then then) {
  const double began = events_.now();
  nodes_[std::size_t(rank / cluster_.ranks_per_node)].compute(
      core_s / cluster_.threads, [this, rank, kind, began, then = std::move(then)] {
        auto& mine = times_.ranks[std::size_t(rank)];
        (kind == Kind::compute ? mine.compute : mine.exchange) += events_.now() - began;
        then();
      });
}

void Step::send(int from, int to, double bytes, Then then) {
  const bool far = from / cluster_.ranks_per_node != to / cluster_.ranks_per_node;
  events_.later((from != to ? look_s() : 0.0) + (far ? cluster_.latency_s + network_s(bytes) : 0.0),
                std::move(then));
}

/// From rank 0, one after the other; what is for itself comes last.
void Step::send_each(const std::vector<int>& to, const std::function<double(int)>& bytes,
                     const std::function<void(int)>& receive) {
  auto next = std::make_shared<std::function<void(std::size_t)>>();
  *next = [this, to, bytes, receive, weak = std::weak_ptr(next)](std::size_t i) {
    const auto self = weak.lock();
    if (i == to.size()) {
      if (!to.empty() && to.front() == 0) receive(0);
      return;
    }
    serve(0, costs_.message + (to[i] != 0 ? network_s(bytes(to[i])) * cluster_.threads : 0.0),
          Kind::exchange, [this, self, i, to_rank = to[i], receive] {
            if (to_rank != 0) send(0, to_rank, 0.0, [receive, to_rank] { receive(to_rank); });
            (*self)(i + 1);
          });
  };
  (*next)(0);
}

/// All update ranks meet; who comes early waits for the last. `bytes`: through the link of each.
/// Waits for a core behind it are a part of `hop`.
void Step::collective(int rank, double bytes, Then then) {
  arrived_.push_back({rank, events_.now(), std::move(then)});
  if (arrived_.size() < of(Stage::update).size()) return;
  const auto all = std::exchange(arrived_, {});
  const double hops = std::ceil(std::log2(double(all.size()))),
               far_hops = nodes() > 1 ? std::ceil(std::log2(double(nodes()))) : 0.0;
  const double elapsed =
      all.size() > 1 ? far_hops * (cluster_.latency_s + look_s()) + network_s(bytes) : 0.0;
  for (const Arrival& one : all) {
    times_.ranks[std::size_t(one.rank)].imbalance += events_.now() - one.time;
    times_.ranks[std::size_t(one.rank)].exchange += elapsed;
    events_.later(elapsed, [this, one, hops] {
      serve(one.rank, costs_.hop * hops, Kind::exchange, one.then);
    });
  }
}

void Step::schedule() {
  serve(0, costs_.schedule_prompt * double(work_.prompts), Kind::exchange, [this] {
    std::vector<int> generating;
    for (std::size_t i = 0; i < shares_.size(); ++i) {
      if (shares_[i].rollouts > 0) generating.push_back(of(Stage::generation)[i]);
    }
    const auto index = [first = of(Stage::generation).front()](int rank) {
      return std::size_t(rank - first);
    };
    const auto bytes = [this, index](int rank) {
      return kHeadBytes + kGroupBytes * double(shares_[index(rank)].groups);
    };
    send_each(generating, bytes, [this, index](int rank) { generate(index(rank)); });
    if (generating.front() != 0) collecting_ = true;
  });
}

void Step::generate(std::size_t index) {
  const int rank = of(Stage::generation)[index];
  const Share& share = shares_[index];
  const double prompts =
      work_.prompt_tokens * double(share.rollouts) * double(work_.prompts) / double(work_.rollouts);
  const double began = events_.now();
  serve(rank,
        costs_.decode_step * double(share.longest) +
            costs_.decode_token * (double(share.tokens) + prompts),
        Kind::compute, [this, rank, index, began] {
          const double took = events_.now() - began;
          times_.generation = std::max(times_.generation, took);
          times_.generation_mean += took / double(sharing_);
          last_generated_ = events_.now();
          events_.later(turn_s(rank), [this, rank, index] {
            kept_ ? hand_shard(rank, index) : publish_shard(rank, index);
          });
        });
}

/// What has been judged goes to the aggregator, which takes in what has come when it has nothing
/// else to do; its file is written in spare time.
void Step::hand_shard(int rank, std::size_t index) {
  const int aggregator = storing_[index];
  File& file = files_.at(aggregator);
  if (rank == aggregator) {
    file.open = true, ++file.there;
    return take_in(aggregator);
  }
  rest(rank);
  send(rank, aggregator, 0.0, [this, aggregator, index, &file] {
    file.waiting.push_back(shares_[index].rollouts);
    take_in(aggregator);
  });
}

void Step::take_in(int rank) {
  File& file = files_.at(rank);
  if (!file.open || file.busy) return;
  file.busy = true;
  const auto parts = std::exchange(file.waiting, {});
  const double began = events_.now(),
               rollouts = double(std::accumulate(parts.begin(), parts.end(), std::int64_t{0}));
  file.there += parts.size();
  const bool last = file.there == file.parts;
  if (!last && parts.empty()) return void(file.busy = false);
  serve(rank, costs_.gather_rollout * rollouts + (last ? costs_.draft : 0.0), Kind::exchange,
        [this, rank, began, last, &file] {
          file.busy = false;
          if (!last) return take_in(rank);
          times_.archive = std::max(times_.archive, events_.now() - began);
          rest(rank);
          if (rank == 0) collecting_ = true;
          tell_scored(rank);
          if (rank == 0) hear_scored();
        });
}

void Step::tell_scored(int rank) {
  send(rank, 0, 0.0, [this] {
    ++waiting_;
    hear_scored();
  });
}

/// Shard and scores are one cost: the scorer's files are like the generator's. A scorer elsewhere
/// reads what it scores.
void Step::publish_shard(int rank, std::size_t index) {
  const auto& scorers = of(Stage::scoring);
  const int scorer = scorers[index * scorers.size() / shares_.size()];
  const double began = events_.now();
  const double wait = costs_.file_wait;
  serve(rank, costs_.file, Kind::exchange, [this, rank, scorer, began, wait] {
    events_.later(wait, [this, rank, scorer, began, wait] {
      times_.ranks[std::size_t(rank)].exchange += wait;
      times_.archive = std::max(times_.archive, events_.now() - began);
      const auto scored = [this, rank, scorer] {
        if (rank == scorer) rest(rank);
        if (rank == 0) collecting_ = true;
        tell_scored(scorer);
        if (rank == 0) hear_scored();
      };
      if (scorer == rank) return scored();
      rest(rank);
      send(rank, scorer, 0.0,
           [this, scorer, scored] { serve(scorer, costs_.file, Kind::exchange, scored); });
    });
  });
}

/// Rank 0 looks at notices when it has nothing else to do.
void Step::hear_scored() {
  if (!collecting_ || in_hand_ > 0 || waiting_ == 0) return;
  in_hand_ = std::exchange(waiting_, 0);
  serve(0, costs_.message * double(in_hand_), Kind::exchange, [this] {
    heard_ += std::exchange(in_hand_, 0);
    if (heard_ == expected_) return start_update();
    hear_scored();
  });
}

void Step::start_update() {
  for (const int rank : of(Stage::generation)) {  // until the slowest was done, an idle generator
                                                  // waited for it
    auto& mine = times_.ranks[std::size_t(rank)];
    const Idle& idle = idle_[std::size_t(rank)];
    mine.imbalance += std::max(
        0.0, last_generated_ - idle.from - (rank == 0 ? mine.exchange - idle.exchange : 0.0));
  }
  const int first = of(Stage::update).front();  // it knows all files
  const auto bytes = [this, first, ranks = double(of(Stage::update).size())](int rank) {
    return kHeadBytes + kFileRowBytes * (rank == first ? double(expected_)
                                         : kept_       ? double(files_.count(rank))
                                                       : double(expected_) / ranks);
  };
  send_each(of(Stage::update), bytes,
            [this, first](int rank) { update(rank, std::size_t(rank - first)); });
}

/// What an aggregator has it has in memory. Files of ranks that do not update are opened by one
/// rank each. What they hold goes to the leader, who deals leaves.
void Step::update(int rank, std::size_t index) {
  const std::size_t updaters = of(Stage::update).size();
  const double files =
      kept_ ? 0.0 : double(expected_ / updaters + (index < expected_ % updaters ? 1 : 0));
  const double gathered =
      kept_ ? double(work_.rollouts - files_.begin()->second.rollouts)
            : double(work_.rollouts);  // by the leader, who is the first aggregator
  if (index == 0) reading_from_ = events_.now();
  serve(rank, costs_.file * files, Kind::exchange, [this, rank, index, gathered] {
    collective(
        rank, (kRolloutBytes + kTokenBytes * tokens_ / double(work_.rollouts)) * gathered,
        [this, rank, index, gathered] {
          serve(rank, index == 0 ? costs_.gather_rollout * gathered : 0.0, Kind::compute,
                [this, rank, index] {
                  if (index == 0)
                    times_.archive += events_.now() - reading_from_, updating_from_ = events_.now();
                  serve(rank,
                        index == 0
                            ? costs_.unpack_step + costs_.unpack_rollout * double(work_.rollouts)
                            : 0.0,
                        Kind::compute, [this, rank, index] {
                          if (index == 0) times_.columns = events_.now() - updating_from_;
                          collective(rank, kTokenBytes * tokens_ * work_.trained,
                                     [this, rank, index] { train(rank, index); });
                        });
                });
        });
  });
}

/// Leaves are dealt in turn. They are filled up to a limit, and the last has what is left: of few
/// leaves the limit is a sixteenth above their even share, since rollouts do not part where one
/// would like (even_leaves).
double Step::own_micro_batches_s(std::int64_t index) const {
  const double tokens = work_.trained * (tokens_ + work_.prompt_tokens * double(work_.prompts));
  const std::int64_t micro_batches = micro_batch_count(
      std::int64_t(std::ceil(tokens / double(work_.micro_batch_tokens))), std::int64_t(tokens));
  const auto updaters = std::int64_t(of(Stage::update).size());
  const std::int64_t own = micro_batches > index ? (micro_batches - 1 - index) / updaters + 1 : 0;
  const double full =
      micro_batches > kFewMicroBatches
          ? double(work_.micro_batch_tokens)
          : std::min(double(work_.micro_batch_tokens),
                     17.0 / 16.0 * tokens / double(std::max<std::int64_t>(micro_batches, 1)));
  const double rest = double(micro_batches) * full - tokens;  // of the last micro-batch
  return costs_.micro_batch * double(own) +
         costs_.train_token * (double(own) * full -
                               (own > 0 && (micro_batches - 1) % updaters == index ? rest : 0.0));
}

void Step::train(int rank, std::size_t index) {
  const double updaters = double(of(Stage::update).size()), weights = double(work_.weights);
  const double core_s = own_micro_batches_s(std::int64_t(index));
  const double others = (updaters - 1) / updaters;
  serve(rank, core_s, Kind::compute, [this, rank, weights, updaters, others] {
    collective(rank, kSumBytes * weights * others, [this, rank, weights, updaters, others] {
      serve(rank, costs_.optimizer_weight * weights / updaters, Kind::compute,
            [this, rank, weights, others] {
              collective(rank, kWeightBytes * weights * others, [this, rank, weights] {
                serve(rank, costs_.publish_weight * weights, Kind::compute,
                      [this, rank] { finish_update(rank); });
              });
            });
    });
  });
}

void Step::finish_update(int rank) {
  if (rank == of(Stage::update).front()) times_.update = events_.now() - updating_from_;
  if (++updated_ < of(Stage::update).size()) return;
  send(of(Stage::update).front(), 0, 0.0, [this] {
    serve(0, costs_.message + costs_.schedule_prompt * double(work_.prompts), Kind::exchange,
          [this] { send_weights(); });
  });
}

/// To the generation ranks that do not update, by a tree.
void Step::send_weights() {
  std::vector<int> receivers;
  for (const int rank : of(Stage::generation)) {
    if (!cluster_.layout.hosts_stage(rank, Stage::update)) receivers.push_back(rank);
  }
  const double hops = std::ceil(std::log2(double(receivers.size()) + 1)),
               far_hops = std::ceil(std::log2(double(nodes())));
  const double elapsed =
      look_s() + (nodes() > 1 ? far_hops * (cluster_.latency_s + look_s()) +
                                    network_s(kWeightBytes * double(work_.weights))
                              : 0.0);
  for (const int rank : receivers) {
    times_.ranks[std::size_t(rank)].exchange += elapsed;
    events_.later(elapsed, [this, rank, hops] {
      serve(rank, costs_.hop * hops + costs_.publish_weight * double(work_.weights), Kind::exchange,
            [] {});
    });
  }
}

StepTimes Step::run() {
  schedule();
  events_.run();
  times_.step = events_.now();
  times_.scheduling = 2.0 * costs_.schedule_prompt * double(work_.prompts) / cluster_.threads;
  for (auto& rank : times_.ranks)
    rank.waiting = times_.step - rank.compute - rank.imbalance - rank.exchange;
  return std::move(times_);
}

}  // namespace

RankSeconds StepTimes::shares() const {
  RankSeconds sum;
  for (const auto& rank : ranks)
    sum.compute += rank.compute, sum.imbalance += rank.imbalance, sum.exchange += rank.exchange,
        sum.waiting += rank.waiting;
  const double whole = step * double(ranks.size());
  return {sum.compute / whole, sum.imbalance / whole, sum.exchange / whole, sum.waiting / whole};
}

StepTimes simulate_step(const Cluster& cluster, const Workload& work, const Costs& costs) {
  return Step(cluster, work, costs).run();
}

}  // namespace rollcall::sizing::scale
