// The message loop of a rank, and the start that all ranks make together.
#include "run/rank.hpp"

#include "base/errors/log.hpp"
#include "base/errors/long_phase.hpp"
#include "base/errors/visible.hpp"
#include "base/files/file.hpp"
#include "base/process/stop_signals.hpp"
#include "comm/timed_call.hpp"
#include "io/archive.hpp"
#include "io/checkpoint.hpp"
#include "method/method.hpp"
#include "model/device/device_choice.hpp"
#include "run/checkpoint/restore.hpp"
#include "run/context/numerics.hpp"
#include "run/context/prompt_book.hpp"
#include "run/coordinator/coordinator.hpp"
#include "run/coordinator/results.hpp"
#include "run/folder/run_folder.hpp"
#include "run/generation/generation.hpp"
#include "run/generation/partners.hpp"
#include "run/judge/judge_stage.hpp"
#include "run/scoring/scoring.hpp"
#include "run/start/opening.hpp"
#include "run/update/update.hpp"
#include "watch/failure.hpp"
#include "watch/watcher.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <optional>

namespace rollcall::run {
namespace {

/// "generation, scoring"
std::string stages_of(const comm::StageLayout& layout, int rank) {
  std::string names;
  for (std::size_t stage = 0; stage < layout.hosts.size(); ++stage) {
    if (layout.hosts_stage(rank, comm::Stage(stage)))
      names += (names.empty() ? "" : ", ") + std::string(comm::stage_name(comm::Stage(stage)));
  }
  return names;
}

/// The groups of ranks, smaller than the world, in which a rank takes part in collectives.
struct RankGroups {
  comm::Communicator* node = nullptr;
  std::unique_ptr<comm::Communicator> update{}, scoring{};
  std::unique_ptr<comm::Communicator> readers{};  ///< generation ranks of a node that has no update
                                                  ///< rank: they pack new weights together
};

/// The route of weights from the update ranks to the ranks that only generate.
struct WeightRoute {
  std::unique_ptr<comm::WeightTransfer> transfer{};
  std::vector<int> ranks{};  ///< world ranks that take part in the transfer, ascending
};

/// The stages that the layout gives a rank.
struct HostedStages {
  std::optional<GenerationStage> generation{};
  ShardCache judged;  ///< shards that this rank has scored
  std::optional<ScoringStage> scoring{};
  std::optional<JudgeStage> judge{};
  std::optional<UpdateStage> update{};
};

/// Everything one rank owns while the job runs.
class Rank {
 public:
  Rank(comm::Communicator& world, comm::Communicator& node, RunContext context,
       const std::string& checkpoint, const JobRequest& request);
  ExitCode run(JobKind kind);

 private:
  void restore(const std::string& checkpoint);
  template <class T>
  T begin(const comm::Envelope& envelope, const char* task);
  bool dispatch(const comm::Envelope& envelope);  ///< false: the message is for the coordinator
  comm::Envelope next(const std::string& waiting_for);
  ExitCode lead(JobKind kind);  ///< on rank 0
  ExitCode follow();
  void on_generated(Generated made);  ///< sends a shard to its scoring rank, or scores it here
  void on_pack(const PackRequest& request);
  const char* background() const;  ///< names the work of other threads, so that a roll call can
                                   ///< name a writer that is stuck
  /// Sends the news from other threads, processes and signals since the last call: verdicts, a
  /// share of a checkpoint that is durable, a stop signal.
  void report_progress();

  comm::Communicator* world_;
  RunContext context_;
  Mailbox mail_;
  RankGroups groups_;
  WeightRoute weights_;
  HostedStages stages_;
  Resumed resumed_;                         ///< rank 0 only
  std::optional<Coordinator> coordinator_;  ///< rank 0 only, while it runs
  std::optional<ExitCode> finished_;
  bool signal_reported_ = false;
};

Rank::Rank(comm::Communicator& world, comm::Communicator& node, RunContext context,
           const std::string& checkpoint, const JobRequest& request)
    : world_(&world),
      context_(std::move(context)),
      mail_(world),
      groups_{.node = &node},
      stages_{.judged = ShardCache(context_.run_dir)} {
  const int rank = world.rank();
  const auto hosts = [&](comm::Stage stage) { return context_.layout.hosts_stage(rank, stage); };
  world.set_collective_deadline(context_.config.run.deadline_s),
      node.set_collective_deadline(context_.config.run.deadline_s);
  world.roll()->role = [layout = context_.layout](int other) { return stages_of(layout, other); };
  groups_.update = world.split(hosts(comm::Stage::update) ? 0 : -1);
  groups_.scoring = world.split(hosts(comm::Stage::scoring) ? 0 : -1);
  const bool reads =
      hosts(comm::Stage::generation) && context_.layout.on_node_of(rank, comm::Stage::update) == 0;
  groups_.readers = world.split(reads ? context_.layout.node_of(rank) : -1);
  open_policy(context_, node);
  const auto travel = context_.store->travel();
  comm::StageLayout readers = context_.layout;
  if (!travel.once_per_node) readers.nodes.clear();
  const auto plan = comm::plan_transfer(readers, travel.slices);
  for (const auto& batch : plan) weights_.ranks.push_back(batch.root);
  for (const int other : context_.layout.of(comm::Stage::generation)) {
    if (!context_.layout.hosts_stage(other, comm::Stage::update)) weights_.ranks.push_back(other);
  }
  std::sort(weights_.ranks.begin(), weights_.ranks.end());
  weights_.ranks.erase(std::unique(weights_.ranks.begin(), weights_.ranks.end()),
                       weights_.ranks.end());
  auto chosen = comm::agree_on_transport(world, context_.config.run.comm, travel.device);
  context_.transport = std::move(chosen.transport);
  if (rank == 0 && chosen.choice.transport != comm::TransportKind::mpi)
    log_info("sums and weights travel by {}", comm::describe(chosen.choice));
  weights_.transfer = std::make_unique<comm::WeightTransfer>(world, plan, context_.transport);
  const LongPhase phase("preparing the stages: other models, checkpoint, memory");
  if (hosts(comm::Stage::generation))
    stages_.generation.emplace(context_, rank,
                               make_partner(context_, request.environment_spawner, rank));
  if (hosts(comm::Stage::scoring))
    stages_.scoring.emplace(context_, mail_, request.spawner,
                            hosts(comm::Stage::update) ? &stages_.judged : nullptr);
  if (hosts(comm::Stage::judge)) stages_.judge.emplace(context_, mail_);
  if (hosts(comm::Stage::update))
    stages_.update.emplace(context_, mail_, *groups_.update, stages_.judged);
  if (!checkpoint.empty()) restore(checkpoint);
  reserve_steps(*context_.threads.pool, context_.memory.step_bytes);
  if (rank != 0) return;
  coordinator_.emplace(
      context_, mail_, [this](const std::string& waiting_for) { return next(waiting_for); },
      weights_.ranks, std::move(resumed_));
}

void Rank::restore(const std::string& name) {
  if (world_->rank() != 0) io::await_checkpoint(context_.run_dir, name);  // rank 0 has read it
  const io::StoredCheckpoint checkpoint(context_.run_dir, name);
  CoordinatorState state;
  PartReaders readers;
  if (stages_.update) readers = stages_.update->part_readers();
  readers[Part::coordinator] = [&](const io::StoredCheckpoint& from, Restoring) {
    state = state_of(from);
  };
  readers[Part::weights] = [&](const io::StoredCheckpoint& from, Restoring) {
    restore_weights(from, *context_.store, *groups_.node, PolicyVersion{state.policy_version});
  };
  restore_parts(checkpoint, Restoring::resume, readers);
  if (stages_.update) stages_.update->restore_replay(state.unpacked);
  if (world_->rank() == 0) resumed_ = {std::move(state), checkpoint};
}

/// Unpacks a message and notes the task that it begins, which names a wait that lasts too long.
template <class T>
T Rank::begin(const comm::Envelope& envelope, const char* task) {
  T message = from_bytes<T>(envelope.bytes);
  if constexpr (requires { message.times; }) context_.threads.cut->begin(message.times);
  if constexpr (requires { message.step; })
    world_->set_activity(fmt::format("{} of step {}", task, message.step));
  else if constexpr (requires { message.shard.step; })
    world_->set_activity(fmt::format("{} of step {}", task, message.shard.step));
  else world_->set_activity(task);
  return message;
}

bool Rank::dispatch(const comm::Envelope& envelope) {
  const auto unhosted = [&](bool hosted) {
    require<ProtocolError>(hosted,
                           fmt::format("message {} reached rank {}, which does not host its stage",
                                       envelope.tag, world_->rank()),
                           "the layouts of two ranks differ",
                           "start every rank with the same binary");
  };
  switch (Tag(envelope.tag)) {
    case Tag::plan:
      unhosted(stages_.generation.has_value());
      on_generated(stages_.generation->on_plan(begin<RoundPlan>(envelope, "generation")));
      return true;
    case Tag::shard:
      unhosted(stages_.scoring.has_value());
      stages_.scoring->on_shard(begin<ShardNotice>(envelope, "scoring"));
      return true;
    case Tag::question:
      unhosted(stages_.judge.has_value());
      stages_.judge->on_request(envelope.source, begin<JudgeRequest>(envelope, "judging"));
      return true;
    case Tag::judged:
      unhosted(stages_.scoring.has_value());
      stages_.scoring->on_judged(begin<GradedPart>(envelope, "aggregation"));
      return true;
    case Tag::judgement:
      unhosted(stages_.scoring.has_value());
      stages_.scoring->on_judgement(begin<JudgeReply>(envelope, "scoring"));
      return true;
    case Tag::supervise:
      unhosted(stages_.update.has_value());
      stages_.update->on_supervise(begin<SupervisePlan>(envelope, "supervised update"));
      return true;
    case Tag::update:
      unhosted(stages_.update.has_value());
      stages_.update->on_update(begin<UpdatePlan>(envelope, "update"));
      return true;
    case Tag::save:
      unhosted(stages_.update.has_value());
      stages_.update->on_save(begin<SaveRequest>(envelope, "checkpoint"));
      return true;
    case Tag::rollback:
      unhosted(stages_.update.has_value());
      stages_.update->on_rollback(begin<std::string>(envelope, "rollback"));
      return true;
    case Tag::pack:
      unhosted(groups_.scoring != nullptr);
      on_pack(begin<PackRequest>(envelope, "packing"));
      return true;
    case Tag::weights: {
      const auto version = begin<std::uint64_t>(envelope, "weight transfer");
      weights_.transfer->run(context_.store->travelling_weights(), version);
      // An update rank has already published these weights when it computed them.
      if (!stages_.update)
        (void)context_.store->publish(PolicyVersion{version}, {.ranks = groups_.readers.get()});
      return true;
    }
    case Tag::finish: finished_ = ExitCode(from_bytes<int>(envelope.bytes)); return true;
    case Tag::scored:
    case Tag::updated:
    case Tag::packed:
    case Tag::saved:
    case Tag::stop: return false;
  }
  throw ProtocolError(error_message(
      fmt::format("message with unknown tag {} from rank {}", envelope.tag, envelope.source),
      "ranks must run the same binary", "check that every node starts the same build"));
}

void Rank::on_generated(Generated made) {
  if (made.scorer == world_->rank()) {
    world_->set_activity(fmt::format("scoring of step {}", made.shard.step));
    return stages_.scoring->on_own_shard(made.notice, std::move(made.shard));
  }
  // The sampling was cut short, so the shard is not stored, and its notice goes without a file.
  if (made.notice.cut) return mail_.send(made.scorer, Tag::shard, made.notice);
  const Stopwatch writing;
  made.notice.file = io::publish(
      context_.run_dir,
      io::draft_shard(made.shard,
                      PromptBook(context_.texts, made.notice.derived).stored(made.shard),
                      context_.identity));
  made.notice.archive_s += writing.seconds();
  mail_.send(made.scorer, Tag::shard, made.notice);
}

void Rank::on_pack(const PackRequest& request) {
  const Stopwatch clock;
  std::vector<io::PackInput> inputs;
  for (const auto& file : request.files) inputs.push_back({file.shard, file.scores});
  std::optional<comm::TimedCall> guard;  // MPI-IO waits for all ranks inside HDF5
  if (groups_.scoring->mpi_handle()) {
    std::vector<std::string> parties;
    for (int rank = 0; rank < world_->size(); ++rank) {
      const bool packs = context_.layout.hosts_stage(rank, comm::Stage::scoring);
      parties.push_back(packs ? fmt::format("rank {} ({})", rank, stages_of(context_.layout, rank))
                              : "");
    }
    guard.emplace(context_.config.run.deadline_s, "packing " + request.name, parties);
  }
  io::pack(*groups_.scoring, context_.run_dir, request.name, inputs, context_.identity);
  guard.reset();
  if (groups_.scoring->rank() == 0) mail_.send(0, Tag::packed, PackReport{clock.seconds()});
}

const char* Rank::background() const {
  if (stages_.scoring && stages_.scoring->is_judging()) return "scoring";
  return stages_.update && stages_.update->is_saving() ? "writing of a checkpoint" : "";
}

void Rank::report_progress() {
  if (stages_.scoring && stages_.scoring->is_judging()) {
    stages_.scoring->progress();
    if (!stages_.scoring->is_judging()) world_->set_activity(background());
  }
  if (stages_.update) {
    if (const auto share = stages_.update->saved()) {
      world_->set_activity(background());
      mail_.send(0, Tag::saved, *share);
    }
  }
  if (signal_reported_ || world_->rank() == 0) return;  // rank 0 sees its own signals
  if (const auto signal = stop_signal()) {
    mail_.send(0, Tag::stop, fmt::format("{} on rank {}", *signal, world_->rank()));
    signal_reported_ = true;
  }
}

comm::Envelope Rank::next(const std::string& waiting_for) {
  constexpr double kLater_s = 3.0;  // rank 0 knows the waits of all ranks, so it gives up first,
                                    // while the others can still answer a roll call
  const bool leads = world_->rank() == 0;
  const double deadline_s = context_.config.run.deadline_s + (leads ? 0.0 : kLater_s);
  for (;;) {
    report_progress();
    // Messages that have arrived may contain more questions, which the judge model then answers
    // together with its current ones.
    if (stages_.judge && stages_.judge->is_asked()) {
      if (const auto arrived = world_->try_receive()) {
        if (!dispatch(*arrived) || finished_) return *arrived;
      } else {
        world_->set_activity("judging");
        stages_.judge->answer();
      }
      world_->set_activity(background());
      continue;
    }
    auto envelope = comm::receive(
        *world_, deadline_s, waiting_for, [this] { report_progress(); },
        leads ? std::nullopt : std::optional(0));
    const bool handled = dispatch(envelope);
    world_->set_activity(background());
    if (!handled || finished_) return envelope;
  }
}

ExitCode Rank::follow() {
  while (!finished_) {
    const auto envelope = next("the coordinator's next message");
    require<ProtocolError>(finished_.has_value(),
                           fmt::format("message {} reached rank {}", envelope.tag, world_->rank()),
                           "it is for the coordinator", "resume from the last checkpoint");
  }
  return *finished_;
}

ExitCode Rank::run(JobKind kind) {
  world_->barrier();    // before all ranks are here, a stop has nothing to save or to cut
  note_stop_signals();  // from here on a stop finishes or cuts the step
  const ExitCode code = world_->rank() == 0 ? lead(kind) : follow();
  // The files of a step that was cut may still be written, and a process must not end within HDF5.
  world_->wait([this] { return !stages_.judged.writer().writes(); }, context_.config.run.deadline_s,
               "the writing of this rank's rollouts");
  return code;
}

ExitCode Rank::lead(JobKind kind) {
  ExitCode code = ExitCode::done;
  if (kind == JobKind::train) code = coordinator_->train();
  else if (const auto evaluation = coordinator_->evaluate_only())
    write_evaluation(context_, *evaluation);
  else code = ExitCode::requeue;
  note_stop_signals();  // a signal is only noted from here on: no work is left to end early
  for (int rank = 1; rank < world_->size(); ++rank) mail_.send(rank, Tag::finish, int(code));
  return code;
}

}  // namespace

ExitCode run_job(comm::Communicator& world, const JobRequest& request) {
  const auto node = world.split_by_node();  // collective, so it comes before what rank 0 does
                                            // alone
  const auto share = comm::node_share(world, *node);
  model::prefer_device(device_place(node->rank()));
  OpenedJob opening;
  if (world.rank() == 0) {
    try {
      opening = open_job(world, request, share);
    } catch (const std::exception& e) {
      const ExitCode code = exit_code_of(e);
      end_as_failed(code);
      complain(message_of(e));
      opening.preamble.exit_code = int(code);
    }
  } else {
    try {
      (void)method::library();  // loads it while rank 0 reads and checks
    } catch (const Error&) {    // make_context() throws it again, unless rank 0 refuses the job
    }
  }
  opening.preamble = from_bytes<Preamble>(
      world.gather_all(world.rank() == 0 ? to_bytes(opening.preamble) : std::string())[0]);
  if (opening.preamble.exit_code != 0) return ExitCode(opening.preamble.exit_code);
  RunConfig config;
  bind(config).load_text(opening.preamble.toml, "rank 0's run file");
  watch::Failure failure(world, config.run.dir);
  stay_silent_beside(std::filesystem::path(config.run.dir) / "failure");
  try {
    if (world.rank() != 0) {
      start_log(config.run.log_level, world.rank(), world.size());
      await_run_folder(config.run.dir);
      opening.context.emplace(
          make_context(config, {world.size(), thread_count(config, share), node->rank() == 0}));
      opening.context->layout.nodes = share.nodes;
      require_same_start(opening.context->identity, opening.preamble);
      if (const std::string own = arithmetic_of(config.run.numerics);
          own != opening.preamble.arithmetic)
        log_warning("this rank computes on {}, rank 0 on {}: results depend on who computes what",
                    own, opening.preamble.arithmetic);
      take_identity(opening.preamble, opening.context->identity);
      opening.context->sends_rollouts = opening.preamble.sends_rollouts;
      opening.context->diversity = opening.preamble.diversity;
      opening.context->mask = opening.preamble.mask;
      fit_memory(*opening.context, world.rank(), share.memory);
    }
    opening.context->identity.binary_version = request.binary_version();
    comm::TimedCall::note_failure_in(std::filesystem::path(config.run.dir) / "failure",
                                     world.rank());
    for (const auto& line : comm::rank_map(world)) {
      if (world.rank() == 0) log_info("{}", line);
    }
    if (node->size() < share.ranks)
      log_warning(
          "{} of the {} ranks on this node can reach memory of the others: weights and gradient sums stand there more than once (process namespaces, as of "
          "a container for each rank, have this effect)",
          node->size(), share.ranks);
    if (config.run.numerics == kernels::kCudaBf16Sliced8) {
      log_info("rank {} computes on {}", world.rank(), model::device_text());
      if (const int place = device_place(node->rank()); place != node->rank())
        log_warning(
            "the launcher numbers rank {} {} on its node, but {} ranks before it share its memory: its device is chosen by the launcher's number",
            world.rank(), place, node->rank());
    }
    opening.context->threads.pool->report_to(world.roll()->activity);
    std::optional<watch::Watcher> watcher;
    if (request.kind == JobKind::train && config.run.watch_s > 0)
      watcher.emplace(world, config.run.dir, stages_of(opening.context->layout, world.rank()),
                      config.run.watch_s);
    world.set_activity("start");
    Rank rank(world, *node, std::move(*opening.context), opening.preamble.checkpoint, request);
    world.set_activity("");
    try {
      return rank.run(request.kind);
    } catch (const std::exception& e) {
      failure.say(e);
      throw;
    }
  } catch (const std::exception& e) {
    failure.say(e);
    return failure.end();
  }
}

}  // namespace rollcall::run
