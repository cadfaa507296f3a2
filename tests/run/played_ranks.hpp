// A run whose rank 0 is the real one: all ranks are played, which have done at once what is sent to
// them, and count what rank 0 gives its transport to hold.
#pragma once

#include "base/time/clock.hpp"
#include "comm/communicator.hpp"
#include "comm/stage_layout.hpp"
#include "io/shard_name.hpp"
#include "run/checkpoint/part.hpp"
#include "run/context/run_context.hpp"
#include "run/messages/message_bytes.hpp"
#include "run/messages/messages.hpp"
#include "run/messages/purposes.hpp"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace rollcall::run::test {

class PlayedRanks final : public comm::Communicator {
 public:
  /// What comes of a group of a round.
  using Sample = std::function<GroupReport(const StepPlan& plan, const GroupPlan& group)>;
  PlayedRanks(comm::StageLayout layout, Sample sample)
      : layout_(std::move(layout)), sample_(std::move(sample)) {
    messages_ = std::make_unique<Played>(*this);
  }

  /// What rank 0 sent under a tag.
  struct Sent {
    std::size_t messages = 0;
    std::size_t bytes = 0;               ///< given to the transport: once what several ranks share
    double first_s = 0.0, last_s = 0.0;  ///< when the first was given, and the last
  };
  std::map<Tag, Sent> sent;
  /// Bytes given between two waits: what a slow network would not have sent.
  std::size_t most_held = 0;
  /// Of rank 0, between a message of this tag and its next wait.
  std::map<Tag, double> worked_s;
  /// In place of answers.
  std::function<void(int rank, Tag tag, const std::string& bytes)> see;

  int rank() const override { return 0; }
  int size() const override { return layout_.ranks; }
  void sum(std::span<std::int64_t>) override {}
  void maximum(std::span<double>) override {}
  void broadcast(std::span<std::byte>, int) override {}
  void barrier() override {}
  std::unique_ptr<comm::Communicator> split(int) override { return nullptr; }
  std::unique_ptr<comm::Communicator> split_by_node() override { return nullptr; }
  SharedMemory share_memory(std::size_t) override { return {}; }
  std::vector<std::string> gather_all(const std::string& bytes) override { return {bytes}; }
  [[noreturn]] void abort(int) override { throw std::logic_error("rank 0 ends the job"); }

  /// What rank 0 hears next.
  comm::Envelope next() {
    if (heard_) worked_s[*heard_] += since_.seconds();
    held_ = 0;
    while (answers_.empty() && !plans_.empty()) {
      auto [rank, bytes] = std::move(plans_.front());
      plans_.pop_front();
      generate(rank, from_bytes<RoundPlan>(bytes));
    }
    if (answers_.empty()) throw std::logic_error("rank 0 waits for what nobody was asked");
    comm::Envelope envelope = std::move(answers_.front());
    answers_.pop_front();
    heard_ = Tag(envelope.tag);
    since_.restart();
    return envelope;
  }

 private:
  /// Messages from rank 0, which the played ranks take at once.
  class Played final : public comm::Messages {
   public:
    explicit Played(PlayedRanks& ranks) : ranks_(&ranks) {}
    void send(int destination, int tag, std::string bytes) override {
      ranks_->note(Tag(tag), 1, bytes.size());
      ranks_->take(destination, Tag(tag), bytes);
    }
    void send_all(std::span<const int> destinations, int tag, std::string bytes) override {
      ranks_->note(Tag(tag), destinations.size(), bytes.size());
      for (const int destination : destinations) ranks_->take(destination, Tag(tag), bytes);
    }
    std::optional<comm::Envelope> try_receive() override { return {}; }

   private:
    PlayedRanks* ranks_;
  };

  void note(Tag tag, std::size_t messages, std::size_t bytes) {
    Sent& of = sent[tag];
    if (of.messages == 0) of.first_s = clock_.seconds();
    of.messages += messages;
    of.bytes += bytes;
    of.last_s = clock_.seconds();
    held_ += bytes;
    most_held = std::max(most_held, held_);
  }
  template <class T>
  void answer(int source, Tag tag, const T& message) {
    answers_.push_back({source, int(tag), to_bytes(message)});
  }

  void take(int rank, Tag tag, const std::string& bytes) {
    if (see) return see(rank, tag, bytes);
    const bool leads = rank == layout_.of(comm::Stage::update).front();
    if (tag == Tag::plan) plans_.emplace_back(rank, bytes);
    if (tag == Tag::save) answer(rank, Tag::saved, SaveReport{share_of(rank), {}});
    if (tag == Tag::supervise && leads) updated(rank, from_bytes<SupervisePlan>(bytes).step);
    if (tag == Tag::update && leads) updated(rank, from_bytes<UpdatePlan>(bytes).step);
  }
  /// The names of the files that an update rank writes in every run. There are no such files.
  io::CheckpointFacts share_of(int rank) const {
    const auto& writers = layout_.of(comm::Stage::update);
    const auto index = std::find(writers.begin(), writers.end(), rank) - writers.begin();
    io::CheckpointFacts files;
    for (const PartRow& row : part_rows()) {
      if (row.presence != Presence::always ||
          !is_written_by(row.part, int(index), int(writers.size())))
        continue;
      const std::vector<std::int64_t> numbers{index + 1, std::int64_t(writers.size())};
      files[file_of(row.part, std::span(numbers).first(numbers_of(row.part)))];
    }
    return files;
  }
  void updated(int rank, std::uint64_t step) {
    UpdateReport report{.version = step, .metrics = {}};
    report.stored = std::exchange(kept_, {});
    std::sort(report.stored.begin(), report.stored.end(),
              [](const auto& a, const auto& b) { return a.path < b.path; });
    answer(rank, Tag::updated, report);
  }

  /// A rank's share of a round; with the last of those that are stored together a notice.
  void generate(int rank, const RoundPlan& plan) {
    auto& [parts, notice] = open_[{plan.purpose, plan.aggregator}];
    notice.report.purpose = plan.purpose, notice.report.step = plan.step,
    notice.report.round = plan.round;
    notice.generation_s[std::uint32_t(rank)] = 1.0;
    for (const GroupPlan& group : plan.groups) notice.report.groups.push_back(sample_(plan, group));
    if (++parts < plan.aggregated) return;
    const bool keeps =
        is_trained_on(plan.purpose) && layout_.hosts_stage(plan.aggregator, comm::Stage::update);
    const io::ShardName name{.purpose = plan.purpose,
                             .step = plan.step,
                             .round = plan.round,
                             .producer = std::uint32_t(plan.aggregator),
                             .holds = io::Holds::both};
    const io::PublishedFile file{name.path(), 1, 1}, later{name.path()};
    notice.files = {keeps ? later : file, keeps ? later : file, keeps ? plan.aggregator : -1};
    if (keeps) kept_.push_back(file);
    answer(plan.aggregator, Tag::scored, notice);
    open_.erase({plan.purpose, plan.aggregator});
  }

  comm::StageLayout layout_;
  Sample sample_;
  Stopwatch clock_, since_;
  std::optional<Tag> heard_;
  std::size_t held_ = 0;
  std::deque<std::pair<int, std::string>> plans_;  ///< rank and bytes
  std::deque<comm::Envelope> answers_;
  std::map<std::pair<Purpose, int>, std::pair<std::uint32_t, ScoredNotice>>
      open_;  ///< by who stores them
  std::vector<io::PublishedFile> kept_;
};

}  // namespace rollcall::run::test
