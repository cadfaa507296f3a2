// (long: one loop) The message loop of a rank, and the start that all ranks make together.
#include "run/rank.hpp"

#include "base/file.hpp"
#include "base/log.hpp"
#include "base/long_phase.hpp"
#include "base/stop_signals.hpp"
#include "base/visible.hpp"
#include "comm/timed_call.hpp"
#include "io/archive.hpp"
#include "io/checkpoint.hpp"
#include "method/method.hpp"
#include "model/device/device_choice.hpp"
#include "model/device/device_sizes.hpp"
#include "model/tensors/model_folder.hpp"
#include "run/context/numerics.hpp"
#include "run/context/question_forms.hpp"
#include "run/coordinator/coordinator.hpp"
#include "run/coordinator/results.hpp"
#include "run/folder/run_folder.hpp"
#include "run/generation/generation.hpp"
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

/// Everything one rank owns while the job runs.
class Rank {
 public:
  Rank(comm::Communicator& world, comm::Communicator& node, RunContext context,
       const std::string& checkpoint, reward::Spawner* spawner);
  ExitCode run(JobKind kind);

 private:
  void restore(const std::string& checkpoint);
  template <class T>
  T begin(const comm::Envelope& envelope, const char* task);
  bool dispatch(const comm::Envelope& envelope);  ///< false: it is for the coordinator
  comm::Envelope next(const std::string& waiting_for);
  ExitCode lead(JobKind kind);  ///< on rank 0
  ExitCode follow();
  void on_generated(Generated made);  ///< to the scoring rank; at once where that is this one
  void on_pack(const PackRequest& request);
  const char* background() const;  ///< what goes on beside the messages: a writer that hangs is
                                   ///< named in a roll call
  void report_progress();  ///< a stop signal, a durable share of a checkpoint: whatever happened
                           ///< beside the messages

  comm::Communicator* world_;
  RunContext context_;
  Mailbox mail_;
  comm::Communicator* node_;
  std::unique_ptr<comm::Communicator> update_ranks_, scoring_ranks_;
  std::unique_ptr<comm::Communicator> readers_;  ///< generation ranks of a node that has no update
                                                 ///< rank
  std::unique_ptr<comm::WeightTransfer> transfer_;
  std::vector<int> transfer_ranks_;
  std::optional<GenerationStage> generation_;
  ShardCache kept_;
  std::optional<ScoringStage> scoring_;
  std::optional<JudgeStage> judging_;
  std::optional<UpdateStage> update_;
  Resumed resumed_;                         ///< rank 0 only
  std::optional<Coordinator> coordinator_;  ///< rank 0 only, while it runs
  std::optional<ExitCode> finished_;
  bool signal_reported_ = false;
};

Rank::Rank(comm::Communicator& world, comm::Communicator& node, RunContext context,
           const std::string& checkpoint, reward::Spawner* spawner)
    : world_(&world),
      context_(std::move(context)),
      mail_(world),
      node_(&node),
      kept_(context_.run_dir) {
  const int rank = world.rank();
  const auto hosts = [&](comm::Stage stage) { return context_.layout.hosts_stage(rank, stage); };
  world.set_collective_deadline(context_.config.run.deadline_s),
      node.set_collective_deadline(context_.config.run.deadline_s);
  world.roll()->role = [layout = context_.layout](int other) { return stages_of(layout, other); };
  update_ranks_ = world.split(hosts(comm::Stage::update) ? 0 : -1);
  scoring_ranks_ = world.split(hosts(comm::Stage::scoring) ? 0 : -1);
  const bool reads =
      hosts(comm::Stage::generation) && context_.layout.on_node_of(rank, comm::Stage::update) == 0;
  readers_ = world.split(reads ? context_.layout.node_of(rank) : -1);
  open_policy(context_, node);
  const bool on_device = context_.store->on_device();
  std::vector<comm::WeightSlice> slices;
  comm::StageLayout readers = context_.layout;
  if (on_device) {  // as they stand there, to every device: no memory is in common
    slices.push_back({"weights of the device", 0,
                      model::device_weight_bytes(context_.store->config()).changing() /
                          std::int64_t(sizeof(float))});
    readers.nodes.clear();
  } else {
    for (const auto& slice : context_.store->layout().slices)
      slices.push_back({slice.name, slice.offset, slice.count});
  }
  const auto plan = comm::plan_transfer(readers, slices);
  for (const auto& batch : plan) transfer_ranks_.push_back(batch.root);
  for (const int other : context_.layout.of(comm::Stage::generation)) {
    if (!context_.layout.hosts_stage(other, comm::Stage::update)) transfer_ranks_.push_back(other);
  }
  std::sort(transfer_ranks_.begin(), transfer_ranks_.end());
  transfer_ranks_.erase(std::unique(transfer_ranks_.begin(), transfer_ranks_.end()),
                        transfer_ranks_.end());
  auto chosen =
      comm::agree_on_transport(world, context_.config.run.comm,
                               on_device ? std::optional(model::device_index()) : std::nullopt);
  context_.transport = std::move(chosen.transport);
  if (rank == 0 && chosen.choice.transport != comm::TransportKind::mpi)
    log_info("sums and weights travel by {}", comm::describe(chosen.choice));
  transfer_ = std::make_unique<comm::WeightTransfer>(world, plan, context_.transport);
  const LongPhase phase("preparing the stages: other models, checkpoint, memory");
  if (hosts(comm::Stage::generation)) generation_.emplace(context_, rank);
  if (hosts(comm::Stage::scoring))
    scoring_.emplace(context_, mail_, spawner, hosts(comm::Stage::update) ? &kept_ : nullptr);
  if (hosts(comm::Stage::judge)) judging_.emplace(context_, mail_);
  if (hosts(comm::Stage::update)) update_.emplace(context_, mail_, *update_ranks_, kept_);
  if (!checkpoint.empty()) restore(checkpoint);
  reserve_steps(context_);
  if (rank != 0) return;
  coordinator_.emplace(
      context_, mail_, [this](const std::string& waiting_for) { return next(waiting_for); },
      transfer_ranks_, std::move(resumed_));
}

void Rank::restore(const std::string& name) {
  if (world_->rank() != 0) io::await_checkpoint(context_.run_dir, name);  // rank 0 has read it
  const io::StoredCheckpoint checkpoint(context_.run_dir, name);
  auto state = state_of(checkpoint);
  if (node_->rank() == 0)
    model::read_weights(context_.store->config(), checkpoint.verified("model.safetensors"),
                        context_.store->weights());
  context_.store->publish(PolicyVersion{state.policy_version}, *node_);
  if (update_) {
    update_->restore(checkpoint);
    update_->restore_replay(state.unpacked);
  }
  if (world_->rank() == 0) resumed_ = {std::move(state), checkpoint};
}

/// Unpacks a message and notes what is done with it: a wait on the way that lasts too long names
/// it.
template <class T>
T Rank::begin(const comm::Envelope& envelope, const char* task) {
  T message = from_bytes<T>(envelope.bytes);
  if constexpr (requires { message.times; }) context_.cut->begin(message.times);
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
      unhosted(generation_.has_value());
      on_generated(generation_->on_plan(begin<RoundPlan>(envelope, "generation")));
      return true;
    case Tag::shard:
      unhosted(scoring_.has_value());
      scoring_->on_shard(begin<ShardNotice>(envelope, "scoring"));
      return true;
    case Tag::question:
      unhosted(judging_.has_value());
      judging_->on_request(envelope.source, begin<JudgeRequest>(envelope, "judging"));
      return true;
    case Tag::judged:
      unhosted(scoring_.has_value());
      scoring_->on_judged(begin<GradedPart>(envelope, "aggregation"));
      return true;
    case Tag::judgement:
      unhosted(scoring_.has_value());
      scoring_->on_judgement(begin<JudgeReply>(envelope, "scoring"));
      return true;
    case Tag::supervise:
      unhosted(update_.has_value());
      update_->on_supervise(begin<SupervisePlan>(envelope, "supervised update"));
      return true;
    case Tag::update:
      unhosted(update_.has_value());
      update_->on_update(begin<UpdatePlan>(envelope, "update"));
      return true;
    case Tag::save:
      unhosted(update_.has_value());
      update_->on_save(begin<SaveRequest>(envelope, "checkpoint"));
      return true;
    case Tag::rollback:
      unhosted(update_.has_value());
      update_->on_rollback(begin<std::string>(envelope, "rollback"));
      return true;
    case Tag::pack:
      unhosted(scoring_ranks_ != nullptr);
      on_pack(begin<PackRequest>(envelope, "packing"));
      return true;
    case Tag::weights: {
      const auto version = begin<std::uint64_t>(envelope, "weight transfer");
      if (context_.store->on_device()) {
        transfer_->run(model::device_weights(context_.store->policy()), version);
        if (!update_) context_.store->publish_on_device(PolicyVersion{version});
        return true;
      }
      transfer_->run(context_.store->weights(), version);
      if (readers_) context_.store->publish(PolicyVersion{version}, *readers_);
      else if (!update_) context_.store->take(PolicyVersion{version});
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
    return scoring_->on_own_shard(made.notice, std::move(made.shard));
  }
  // nothing of it is kept
  if (made.notice.cut) return mail_.send(made.scorer, Tag::shard, made.notice);
  const Stopwatch writing;
  made.notice.file = io::publish(
      context_.run_dir,
      io::draft_shard(made.shard, stored_prompts(context_, made.shard, made.notice.judge_tasks),
                      context_.identity));
  made.notice.archive_s += writing.seconds();
  mail_.send(made.scorer, Tag::shard, made.notice);
}

void Rank::on_pack(const PackRequest& request) {
  const Stopwatch clock;
  std::vector<io::PackInput> inputs;
  for (const auto& file : request.files) inputs.push_back({file.shard, file.scores});
  std::optional<comm::TimedCall> guard;  // MPI-IO waits for all ranks inside HDF5
  if (scoring_ranks_->mpi_handle()) {
    std::vector<std::string> parties;
    for (int rank = 0; rank < world_->size(); ++rank) {
      const bool packs = context_.layout.hosts_stage(rank, comm::Stage::scoring);
      parties.push_back(packs ? fmt::format("rank {} ({})", rank, stages_of(context_.layout, rank))
                              : "");
    }
    guard.emplace(context_.config.run.deadline_s, "packing " + request.name, parties);
  }
  io::pack(*scoring_ranks_, context_.run_dir, request.name, inputs, context_.identity);
  guard.reset();
  if (scoring_ranks_->rank() == 0) mail_.send(0, Tag::packed, PackReport{clock.seconds()});
}

const char* Rank::background() const {
  if (scoring_ && scoring_->is_judging()) return "scoring";
  return update_ && update_->is_saving() ? "writing of a checkpoint" : "";
}

void Rank::report_progress() {
  if (scoring_ && scoring_->is_judging()) {
    scoring_->progress();
    if (!scoring_->is_judging()) world_->set_activity(background());
  }
  if (update_) {
    if (const auto share = update_->saved()) {
      world_->set_activity(background());
      mail_.send(0, Tag::saved, *share);
    }
  }
  if (signal_reported_ || world_->rank() == 0) return;  // rank 0 looks for itself
  if (const auto signal = stop_signal()) {
    mail_.send(0, Tag::stop, fmt::format("{} on rank {}", *signal, world_->rank()));
    signal_reported_ = true;
  }
}

comm::Envelope Rank::next(const std::string& waiting_for) {
  constexpr double kLater_s = 3.0;  // rank 0 knows what all wait for, so it is the first to give
                                    // up, while the others can still answer it
  const bool leads = world_->rank() == 0;
  const double deadline_s = context_.config.run.deadline_s + (leads ? 0.0 : kLater_s);
  for (;;) {
    report_progress();
    if (judging_ && judging_->is_asked()) {  // whatever else has arrived may ask as well
      if (const auto arrived = world_->try_receive()) {
        if (!dispatch(*arrived) || finished_) return *arrived;
      } else {
        world_->set_activity("judging");
        judging_->answer();
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
  world_->barrier();    // until all are here nothing is under way that a stop would have to save or
                        // to cut
  note_stop_signals();  // from here on steps are finished or cut
  const ExitCode code = world_->rank() == 0 ? lead(kind) : follow();
  // Nobody has waited for the files of a step that was cut, and a process may not end under HDF5.
  world_->wait([this] { return !kept_.writer().writes(); }, context_.config.run.deadline_s,
               "the writing of this rank's rollouts");
  return code;
}

ExitCode Rank::lead(JobKind kind) {
  ExitCode code = ExitCode::done;
  if (kind == JobKind::train) code = coordinator_->train();
  else if (const auto evaluation = coordinator_->evaluate_only())
    write_evaluation(context_, *evaluation);
  else code = ExitCode::requeue;
  note_stop_signals();  // nothing is left that a stop could leave out
  for (int rank = 1; rank < world_->size(); ++rank) mail_.send(rank, Tag::finish, int(code));
  return code;
}

}  // namespace

ExitCode run_job(comm::Communicator& world, const JobRequest& request) {
  const auto node = world.split_by_node();  // collective, like what follows: before anything only
                                            // rank 0 does
  const auto share = comm::node_share(world, *node);
  model::prefer_device(device_place(node->rank()));
  Opening opening;
  if (world.rank() == 0) {
    try {
      opening = open_job(world, request, share);
    } catch (const std::exception& e) {
      complain(message_of(e));
      const auto* known = dynamic_cast<const Error*>(&e);
      opening.preamble.exit_code = int(known ? known->code() : ExitCode::failed);
    }
  } else {
    try {
      (void)method::library();  // while rank 0 reads and checks
    } catch (const Error&) {    // said below by whoever lacks it, unless rank 0 refuses the job for
                                // all
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
    opening.context->workers->report_to(world.roll()->activity);
    std::optional<watch::Watcher> watcher;
    if (request.kind == JobKind::train && config.run.watch_s > 0)
      watcher.emplace(world, config.run.dir, stages_of(opening.context->layout, world.rank()),
                      config.run.watch_s);
    world.set_activity("start");
    Rank rank(world, *node, std::move(*opening.context), opening.preamble.checkpoint,
              request.spawner);
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
