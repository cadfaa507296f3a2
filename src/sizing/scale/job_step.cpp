// The step's events: plans, decoding, shards, scores, the update with its collectives, the new
// weights.
#include "sizing/scale/job_step.hpp"

#include "sizing/micro_batch_count.hpp"
#include "sizing/scale/dealt_rollouts.hpp"
#include "sizing/scale/simulated_cluster.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <utility>

namespace rollcall::sizing::scale {
namespace {

using comm::Stage;
using Kind = SimulatedCluster::Kind;

// Bytes of a plan (step_plans.hpp): its settings, one group, and one row of its list of files.
constexpr double kHeadBytes = 200.0, kGroupBytes = 36.0, kFileRowBytes = 200.0;
// Bytes of a rollout's columns: those of the whole rollout (forecast.cpp), and those of a token.
constexpr double kRolloutBytes = 160.0, kTokenBytes = 20.0;
constexpr double kSumBytes = 8.0;     // a gradient sum is an int64
constexpr double kWeightBytes = 4.0;  // a weight is an fp32

/// Core seconds of the micro-batches on update rank number `index`. Micro-batches are dealt to the
/// ranks in turn. Each is filled up to a limit, and the last one takes what is left. If there are
/// few, the limit is a sixteenth above an even share, because a rollout cannot be cut
/// (even_micro_batches).
double micro_batches_s(const Workload& work, const Costs& costs, double response_tokens,
                       std::int64_t updaters, std::int64_t index) {
  const double tokens =
      work.trained * (response_tokens + work.prompt_tokens * double(work.prompts));
  const std::int64_t micro_batches = micro_batch_count(
      std::int64_t(std::ceil(tokens / double(work.micro_batch_tokens))), std::int64_t(tokens));
  const std::int64_t own = micro_batches > index ? (micro_batches - 1 - index) / updaters + 1 : 0;
  const double full =
      micro_batches > kFewMicroBatches
          ? double(work.micro_batch_tokens)
          : std::min(double(work.micro_batch_tokens),
                     17.0 / 16.0 * tokens / double(std::max<std::int64_t>(micro_batches, 1)));
  const double missing = double(micro_batches) * full - tokens;  // by how many tokens the last
                                                                 // micro-batch is smaller
  return costs.micro_batch * double(own) +
         costs.train_token * (double(own) * full -
                              (own > 0 && (micro_batches - 1) % updaters == index ? missing : 0.0));
}

/// The course of one step. Each member function is something that a rank does once the previous one
/// has ended; all durations come from machine_, the simulated cluster.
class Step {
 public:
  Step(const Cluster& cluster, const Workload& work, const Costs& costs)
      : machine_(cluster, costs),
        work_(work),
        costs_(costs),
        dealt_(deal_rollouts(machine_.cluster().layout, cluster.ranks_per_node, work)),
        idle_(std::size_t(cluster.layout.ranks)) {}
  StepTimes run();

 private:
  const std::vector<int>& of(Stage stage) const { return machine_.cluster().layout.of(stage); }
  double turn_s(int rank) const;
  void schedule();
  void generate(std::size_t index);
  void hand_shard(int rank, std::size_t index);
  void take_in(int rank);
  void publish_shard(int rank, std::size_t index);
  void send_notice(int rank);
  void rest(int rank);
  void read_notices();
  void start_update();
  void update(int rank, std::size_t index);
  void unpack(int rank, std::size_t index);
  void train(int rank, std::size_t index);
  void finish_update(int rank);
  void send_weights();

  /// Shards that reach an aggregator.
  struct Intake {
    std::size_t taken_in = 0;             ///< shards that it has taken in, including its own
    std::vector<std::int64_t> waiting{};  ///< rollouts of each shard that it has not taken in yet
    bool open = false;                    ///< the aggregator has generated its own shard
    bool busy = false;                    ///< it is taking shards in
  };
  /// Notices of scored files, as rank 0 sees them.
  struct Notices {
    std::size_t arrived = 0;  ///< notices that have arrived and are not yet being read
    std::size_t in_hand = 0;  ///< notices that rank 0 is reading
    std::size_t read = 0;     ///< notices that rank 0 has read
    bool collecting = false;  ///< rank 0 has nothing else to do
  };
  /// Since when a rank has had nothing to do before the update.
  struct Idle {
    double from = 0.0;      ///< time [s]
    double exchange = 0.0;  ///< RankSeconds::exchange at that time [s]; rank 0's still grows with
                            ///< the notices that it reads
  };
  SimulatedCluster machine_;
  Workload work_;
  Costs costs_;
  DealtRollouts dealt_;
  std::map<int, Intake> intakes_;  ///< by aggregator
  Notices notices_;
  std::vector<Idle> idle_;                                                  ///< [ranks]
  double last_generated_ = 0.0, reading_from_ = 0.0, updating_from_ = 0.0;  ///< times [s]
  std::size_t updated_ = 0;  ///< update ranks that have finished the update
  StepTimes times_;
};

/// The delay [s] of a rank in generation because its node has fewer cores than threads.
double Step::turn_s(int rank) const {
  const Cluster& cluster = machine_.cluster();
  const int generating = dealt_.generating[std::size_t(machine_.node_of(rank))];
  return generating * cluster.threads > cluster.cores_per_node ? costs_.turn : 0.0;
}

/// Notes that the rank has nothing to do from now until the update.
void Step::rest(int rank) {
  idle_[std::size_t(rank)] = {machine_.now(), machine_.spent(rank).exchange};
}

void Step::schedule() {
  machine_.serve(0, costs_.schedule_prompt * double(work_.prompts), Kind::exchange, [this] {
    std::vector<int> generating;
    for (std::size_t i = 0; i < dealt_.shares.size(); ++i) {
      if (dealt_.shares[i].rollouts > 0) generating.push_back(of(Stage::generation)[i]);
    }
    const auto index = [first = of(Stage::generation).front()](int rank) {
      return std::size_t(rank - first);
    };
    const auto bytes = [this, index](int rank) {
      return kHeadBytes + kGroupBytes * double(dealt_.shares[index(rank)].groups);
    };
    machine_.send_each(generating, bytes, [this, index](int rank) { generate(index(rank)); });
    if (generating.front() != 0) notices_.collecting = true;
  });
}

void Step::generate(std::size_t index) {
  const int rank = of(Stage::generation)[index];
  const GenerationShare& share = dealt_.shares[index];
  const double prompts =
      work_.prompt_tokens * double(share.rollouts) * double(work_.prompts) / double(work_.rollouts);
  const double began = machine_.now();
  machine_.serve(rank,
                 costs_.decode_step * double(share.longest) +
                     costs_.decode_token * (double(share.tokens) + prompts),
                 Kind::compute, [this, rank, index, began] {
                   const double took = machine_.now() - began;
                   times_.generation = std::max(times_.generation, took);
                   times_.generation_mean += took / double(dealt_.sharing);
                   last_generated_ = machine_.now();
                   machine_.later(turn_s(rank), [this, rank, index] {
                     dealt_.kept ? hand_shard(rank, index) : publish_shard(rank, index);
                   });
                 });
}

/// A scored shard goes to its aggregator. Writing the aggregator's file costs the step nothing,
/// because it happens in spare time.
void Step::hand_shard(int rank, std::size_t index) {
  const int aggregator = dealt_.storing[index];
  Intake& intake = intakes_[aggregator];
  if (rank == aggregator) {
    intake.open = true;
    ++intake.taken_in;
    return take_in(aggregator);
  }
  rest(rank);
  machine_.send(rank, aggregator, 0.0, [this, aggregator, index, &intake] {
    intake.waiting.push_back(dealt_.shares[index].rollouts);
    take_in(aggregator);
  });
}

/// The aggregator takes in the shards that have come, once it has generated its own.
void Step::take_in(int rank) {
  Intake& intake = intakes_[rank];
  if (!intake.open || intake.busy) return;
  intake.busy = true;
  const auto parts = std::exchange(intake.waiting, {});
  const double began = machine_.now(),
               rollouts = double(std::accumulate(parts.begin(), parts.end(), std::int64_t{0}));
  intake.taken_in += parts.size();
  const bool last = intake.taken_in == dealt_.files.at(rank).parts;
  if (!last && parts.empty()) return void(intake.busy = false);
  machine_.serve(rank, costs_.gather_rollout * rollouts + (last ? costs_.draft : 0.0),
                 Kind::exchange, [this, rank, began, last, &intake] {
                   intake.busy = false;
                   if (!last) return take_in(rank);
                   times_.archive = std::max(times_.archive, machine_.now() - began);
                   rest(rank);
                   if (rank == 0) notices_.collecting = true;
                   send_notice(rank);
                   if (rank == 0) read_notices();
                 });
}

void Step::send_notice(int rank) {
  machine_.send(rank, 0, 0.0, [this] {
    ++notices_.arrived;
    read_notices();
  });
}

/// If shards are not kept, a rank writes its shard to a file. A scoring rank writes a file of
/// scores at the same cost: `costs_.file` covers both if it is the same rank, and is counted again
/// if another rank has to read the shard first.
void Step::publish_shard(int rank, std::size_t index) {
  const auto& scorers = of(Stage::scoring);
  const int scorer = scorers[index * scorers.size() / dealt_.shares.size()];
  const double began = machine_.now();
  const double wait = costs_.file_wait;
  machine_.serve(rank, costs_.file, Kind::exchange, [this, rank, scorer, began, wait] {
    machine_.later(wait, [this, rank, scorer, began, wait] {
      machine_.spent(rank).exchange += wait;
      times_.archive = std::max(times_.archive, machine_.now() - began);
      const auto scored = [this, rank, scorer] {
        if (rank == scorer) rest(rank);
        if (rank == 0) notices_.collecting = true;
        send_notice(scorer);
        if (rank == 0) read_notices();
      };
      if (scorer == rank) return scored();
      rest(rank);
      machine_.send(rank, scorer, 0.0, [this, scorer, scored] {
        machine_.serve(scorer, costs_.file, Kind::exchange, scored);
      });
    });
  });
}

/// Rank 0 reads the notices that have arrived when it has nothing else to do.
void Step::read_notices() {
  if (!notices_.collecting || notices_.in_hand > 0 || notices_.arrived == 0) return;
  notices_.in_hand = std::exchange(notices_.arrived, 0);
  machine_.serve(0, costs_.message * double(notices_.in_hand), Kind::exchange, [this] {
    notices_.read += std::exchange(notices_.in_hand, 0);
    if (notices_.read == dealt_.notices()) return start_update();
    read_notices();
  });
}

void Step::start_update() {
  // an idle generation rank waited until the slowest one finished
  for (const int rank : of(Stage::generation)) {
    auto& mine = machine_.spent(rank);
    const Idle& idle = idle_[std::size_t(rank)];
    mine.imbalance += std::max(
        0.0, last_generated_ - idle.from - (rank == 0 ? mine.exchange - idle.exchange : 0.0));
  }
  const int first = of(Stage::update).front();  // the leader gets the list of all files
  const auto bytes = [this, first, ranks = double(of(Stage::update).size())](int rank) {
    return kHeadBytes + kFileRowBytes * (rank == first ? double(dealt_.notices())
                                         : dealt_.kept ? double(dealt_.files.count(rank))
                                                       : double(dealt_.notices()) / ranks);
  };
  machine_.send_each(of(Stage::update), bytes,
                     [this, first](int rank) { update(rank, std::size_t(rank - first)); });
}

/// An aggregator of kept shards has them in memory already. Other files are read by one update rank
/// each. The first update rank, the leader, gathers the rollouts of all of them.
void Step::update(int rank, std::size_t index) {
  const std::size_t updaters = of(Stage::update).size(), notices = dealt_.notices();
  const double files =
      dealt_.kept ? 0.0 : double(notices / updaters + (index < notices % updaters ? 1 : 0));
  // kept: the leader is the first aggregator and does not gather its own rollouts
  const double gathered = dealt_.kept
                              ? double(work_.rollouts - dealt_.files.begin()->second.rollouts)
                              : double(work_.rollouts);
  const double bytes =
      (kRolloutBytes + kTokenBytes * dealt_.tokens / double(work_.rollouts)) * gathered;
  if (index == 0) reading_from_ = machine_.now();
  machine_.serve(rank, costs_.file * files, Kind::exchange, [this, rank, index, gathered, bytes] {
    machine_.collective(rank, bytes, [this, rank, index, gathered] {
      machine_.serve(rank, index == 0 ? costs_.gather_rollout * gathered : 0.0, Kind::compute,
                     [this, rank, index] { unpack(rank, index); });
    });
  });
}

/// The leader evaluates the objective and deals micro-batches; the others wait for theirs.
void Step::unpack(int rank, std::size_t index) {
  if (index == 0) {
    times_.archive += machine_.now() - reading_from_;
    updating_from_ = machine_.now();
  }
  const double core_s =
      index == 0 ? costs_.unpack_step + costs_.unpack_rollout * double(work_.rollouts) : 0.0;
  machine_.serve(rank, core_s, Kind::compute, [this, rank, index] {
    if (index == 0) times_.columns = machine_.now() - updating_from_;
    machine_.collective(rank, kTokenBytes * dealt_.tokens * work_.trained,
                        [this, rank, index] { train(rank, index); });
  });
}

void Step::train(int rank, std::size_t index) {
  const double updaters = double(of(Stage::update).size()), weights = double(work_.weights);
  const double core_s = micro_batches_s(
      work_, costs_, dealt_.tokens, std::int64_t(of(Stage::update).size()), std::int64_t(index));
  const double others = (updaters - 1) / updaters;
  machine_.serve(rank, core_s, Kind::compute, [this, rank, weights, updaters, others] {
    machine_.collective(
        rank, kSumBytes * weights * others, [this, rank, weights, updaters, others] {
          machine_.serve(
              rank, costs_.optimizer_weight * weights / updaters, Kind::compute,
              [this, rank, weights, others] {
                machine_.collective(rank, kWeightBytes * weights * others, [this, rank, weights] {
                  machine_.serve(rank, costs_.publish_weight * weights, Kind::compute,
                                 [this, rank] { finish_update(rank); });
                });
              });
        });
  });
}

void Step::finish_update(int rank) {
  if (rank == of(Stage::update).front()) times_.update = machine_.now() - updating_from_;
  if (++updated_ < of(Stage::update).size()) return;
  machine_.send(of(Stage::update).front(), 0, 0.0, [this] {
    machine_.serve(0, costs_.message + costs_.schedule_prompt * double(work_.prompts),
                   Kind::exchange, [this] { send_weights(); });
  });
}

/// The new weights go to the generation ranks that do not update, along a tree.
void Step::send_weights() {
  std::vector<int> receivers;
  for (const int rank : of(Stage::generation)) {
    if (!machine_.cluster().layout.hosts_stage(rank, Stage::update)) receivers.push_back(rank);
  }
  const double hops = std::ceil(std::log2(double(receivers.size()) + 1)),
               far_hops = std::ceil(std::log2(double(machine_.nodes())));
  const double elapsed =
      machine_.look_s() + (machine_.nodes() > 1
                               ? far_hops * (machine_.cluster().latency_s + machine_.look_s()) +
                                     machine_.network_s(kWeightBytes * double(work_.weights))
                               : 0.0);
  for (const int rank : receivers) {
    machine_.spent(rank).exchange += elapsed;
    machine_.later(elapsed, [this, rank, hops] {
      machine_.serve(rank, costs_.hop * hops + costs_.publish_weight * double(work_.weights),
                     Kind::exchange, [] {});
    });
  }
}

StepTimes Step::run() {
  schedule();
  machine_.run();
  times_.step = machine_.now();
  times_.scheduling =
      2.0 * costs_.schedule_prompt * double(work_.prompts) / machine_.cluster().threads;
  times_.ranks = machine_.spent();
  for (auto& rank : times_.ranks)
    rank.waiting = times_.step - rank.compute - rank.imbalance - rank.exchange;
  return std::move(times_);
}

}  // namespace

RankSeconds StepTimes::shares() const {
  RankSeconds sum;
  for (const auto& rank : ranks) {
    sum.compute += rank.compute;
    sum.imbalance += rank.imbalance;
    sum.exchange += rank.exchange;
    sum.waiting += rank.waiting;
  }
  const double whole = step * double(ranks.size());
  return {sum.compute / whole, sum.imbalance / whole, sum.exchange / whole, sum.waiting / whole};
}

StepTimes simulate_step(const Cluster& cluster, const Workload& work, const Costs& costs) {
  return Step(cluster, work, costs).run();
}

}  // namespace rollcall::sizing::scale
