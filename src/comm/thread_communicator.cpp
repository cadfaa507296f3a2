// Ranks as threads of one process, with mailboxes and collectives under one mutex. It is simple on
// purpose, because the MPI version is tested against it.
#include "comm/communicator.hpp"

#include "base/errors/error.hpp"
#include "base/errors/log.hpp"
#include "comm/backoff.hpp"
#include "comm/shared_pages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>

namespace rollcall::comm {
namespace {

/// What all groups of one world share: the lock, the condition variable, and the error of a failed
/// rank.
struct World {
  std::mutex mutex;
  std::condition_variable changed;
  int failed_rank = -1;
  std::exception_ptr failure;
  int on_node = 0;  ///< ranks per node; 0 puts all on one node
  /// Throws if a rank has failed; `rank` is the caller's number in the world.
  void check_peers(int rank) const;
};

enum class Sizes { equal, any };
/// What one rank contributes to a collective. It is valid until all ranks have left the collective.
struct Offer {
  const char* call = "";
  const void* bytes = nullptr;
  std::size_t size = 0;
  Sizes sizes = Sizes::equal;
};

struct Group {
  Group(std::shared_ptr<World> w, int ranks)
      : world(std::move(w)), mailboxes(ranks), offers(ranks) {}
  /// Ends the use of the offers. All ranks have met, and none throws or blocks before it gets here,
  /// so this wait needs no deadline.
  void leave() {
    std::unique_lock lock(world->mutex);
    const std::uint64_t left = round;
    if (!arrive()) world->changed.wait(lock, [&] { return round != left; });
  }
  /// Counts a rank of this round. Returns true for the last one, which starts the next round.
  /// Called under the lock.
  bool arrive() {
    if (++arrived < int(offers.size())) return false;
    arrived = 0;
    ++round;
    world->changed.notify_all();
    return true;
  }

  std::shared_ptr<World> world;
  std::vector<std::deque<Envelope>> mailboxes;  ///< [rank]
  std::vector<Offer> offers;                    ///< [rank]
  int arrived = 0;                              ///< ranks that have arrived in this round
  std::uint64_t round = 0;  ///< two rounds per collective: all ranks have arrived, all have left
};

/// Messages of one rank through the mailboxes of its group.
class ThreadMessages final : public Messages {
 public:
  ThreadMessages(std::shared_ptr<Group> group, int rank, int world_rank)
      : group_(std::move(group)), rank_(rank), world_rank_(world_rank) {}
  void send(int destination, int tag, std::string bytes) override;
  std::optional<Envelope> try_receive() override;
  void pause(double seconds) override;

 private:
  std::shared_ptr<Group> group_;
  int rank_, world_rank_;
};

class ThreadCommunicator final : public Communicator {
 public:
  ThreadCommunicator(std::shared_ptr<Group> group, int rank, std::shared_ptr<Roll> roll)
      : group_(std::move(group)), world_(*group_->world), rank_(rank) {
    roll_ = std::move(roll);
    messages_ = std::make_unique<ThreadMessages>(group_, rank_, roll_->world_rank);
  }

  int rank() const override { return rank_; }
  int size() const override { return int(group_->offers.size()); }
  void sum(std::span<std::int64_t> values) override {
    // wraps at an overflow, as MPI_SUM does
    reduce("sum", values, [](std::int64_t a, std::int64_t b) {
      return std::int64_t(std::uint64_t(a) + std::uint64_t(b));
    });
  }
  void maximum(std::span<double> values) override {
    reduce("maximum", values, [](double a, double b) { return std::max(a, b); });
  }
  void barrier() override {
    exchange({"barrier"}, [](const std::vector<Offer>&) {});
  }
  void broadcast(std::span<std::byte> bytes, int root) override;
  std::unique_ptr<Communicator> split(int color) override;
  std::unique_ptr<Communicator> split_by_node() override {
    return split(world_.on_node == 0 ? 0 : roll_->world_rank / world_.on_node);
  }
  SharedMemory share_memory(std::size_t bytes) override;
  std::vector<std::string> gather_all(const std::string& bytes) override;
  [[noreturn]] void abort(int exit_code) override;

 private:
  template <class Read>
  void exchange(Offer own, Read read);  ///< calls read() with the offers of all ranks;
                                        ///< `own` is this rank's
  void meet(const char* call);
  template <class T, class Combine>
  void reduce(const char* call, std::span<T> values, Combine combine);

  std::shared_ptr<Group> group_;
  World& world_;
  int rank_;
};

void World::check_peers(int rank) const {
  if (failed_rank < 0) return;
  throw ProtocolError(
      error_message(fmt::format("rank {} stops because rank {} failed", rank, failed_rank),
                    "a job ends with its first error", "see the error of that rank"));
}

/// Waits until all ranks have arrived. If this rank throws, its arrival is taken back: the round
/// cannot end, so no rank reads the bytes that this rank offered.
void ThreadCommunicator::meet(const char* call) {
  Backoff wait;
  std::unique_lock lock(world_.mutex);
  world_.check_peers(roll_->world_rank);
  const std::uint64_t round = group_->round;
  if (group_->arrive()) return;
  const std::chrono::duration<double> longest(times_.collective_deadline_s);
  world_.changed.wait_for(lock, longest,
                          [&] { return group_->round != round || world_.failed_rank >= 0; });
  times_.waited_s += wait.waited_s();
  if (group_->round != round) return;
  --group_->arrived;
  world_.check_peers(roll_->world_rank);
  throw ProtocolError(error_message(
      fmt::format("rank {} of {} waited {:.3g} s in {}", rank_, size(), wait.waited_s(), call),
      "a rank that should take part is stuck, has ended or called something else",
      "look for the rank whose log stops first, or raise the deadline"));
}

template <class Read>
void ThreadCommunicator::exchange(Offer own, Read read) {
  const std::vector<Offer>& offers = group_->offers;
  group_->offers[rank_] = own;
  meet(own.call);
  const auto odd = std::find_if(offers.begin(), offers.end(), [&](const Offer& o) {
    return std::string_view(o.call) != own.call ||
           (own.sizes == Sizes::equal && o.size != own.size);
  });
  std::string problem;  // all ranks find the same: one problem each, or none at all
  if (odd == offers.end()) read(offers);
  else
    problem = fmt::format("rank {} calls {}({}) while rank {} calls {}({})", rank_, own.call,
                          own.size, odd - offers.begin(), odd->call, odd->size);
  group_->leave();
  require<ProtocolError>(
      problem.empty(), problem,
      "all ranks must make the same collective calls with the same sizes in one order",
      "compare what the two ranks did before");
}

template <class T, class Combine>
void ThreadCommunicator::reduce(const char* call, std::span<T> values, Combine combine) {
  std::vector<T> result;
  exchange({call, values.data(), values.size()}, [&](const std::vector<Offer>& offers) {
    for (const Offer& offer : offers) {
      const std::span<const T> other(static_cast<const T*>(offer.bytes), offer.size);
      if (result.empty()) result.assign(other.begin(), other.end());
      else std::transform(result.begin(), result.end(), other.begin(), result.begin(), combine);
    }
  });
  std::copy(result.begin(), result.end(), values.begin());
}

void ThreadCommunicator::broadcast(std::span<std::byte> bytes, int root) {
  expect(root >= 0 && root < size(), "broadcast: root is a rank");
  exchange({"broadcast", bytes.data(), bytes.size()}, [&](const std::vector<Offer>& offers) {
    if (rank_ != root)
      std::copy_n(static_cast<const std::byte*>(offers[root].bytes), bytes.size(), bytes.begin());
  });
}

std::vector<std::string> ThreadCommunicator::gather_all(const std::string& bytes) {
  std::vector<std::string> strings;
  exchange({"gather_all", bytes.data(), bytes.size(), Sizes::any},
           [&](const std::vector<Offer>& offers) {
             for (const Offer& offer : offers)
               strings.emplace_back(static_cast<const char*>(offer.bytes), offer.size);
           });
  return strings;
}

std::unique_ptr<Communicator> ThreadCommunicator::split(int color) {
  std::vector<int> members;  // ranks of this color, ascending
  exchange({"split", &color, sizeof color}, [&](const std::vector<Offer>& offers) {
    for (int r = 0; r < size(); ++r) {
      if (*static_cast<const int*>(offers[r].bytes) == color) members.push_back(r);
    }
  });
  const bool leads = color >= 0 && members.front() == rank_;
  const std::shared_ptr<Group> made =
      leads ? std::make_shared<Group>(group_->world, int(members.size())) : nullptr;
  std::shared_ptr<Group> part;
  exchange({"split", &made, sizeof made}, [&](const std::vector<Offer>& offers) {
    part = *static_cast<const std::shared_ptr<Group>*>(offers[members.front()].bytes);
  });
  if (color < 0) return nullptr;
  const auto own = std::lower_bound(members.begin(), members.end(), rank_) - members.begin();
  auto communicator = std::make_unique<ThreadCommunicator>(part, int(own), roll_);
  communicator->set_collective_deadline(times_.collective_deadline_s);
  return communicator;
}

SharedMemory ThreadCommunicator::share_memory(std::size_t bytes) {
  const SharedMemory own = rank_ == 0 ? map_pages(bytes) : SharedMemory{};
  SharedMemory all;
  exchange({"share_memory", &own, bytes}, [&](const std::vector<Offer>& offers) {
    all = *static_cast<const SharedMemory*>(offers[0].bytes);
  });
  return all;
}

void ThreadMessages::send(int destination, int tag, std::string bytes) {
  expect(destination >= 0 && destination < int(group_->mailboxes.size()) && tag >= 0,
         "send: destination is a rank and the tag is not negative");
  const std::lock_guard lock(group_->world->mutex);
  group_->mailboxes[destination].push_back({rank_, tag, std::move(bytes)});
  group_->world->changed.notify_all();
}

std::optional<Envelope> ThreadMessages::try_receive() {
  const std::lock_guard lock(group_->world->mutex);
  auto& mailbox = group_->mailboxes[rank_];
  if (mailbox.empty()) {
    group_->world->check_peers(world_rank_);
    return std::nullopt;
  }
  Envelope envelope = std::move(mailbox.front());
  mailbox.pop_front();
  return envelope;
}

void ThreadMessages::pause(double seconds) {
  std::unique_lock lock(group_->world->mutex);
  group_->world->changed.wait_for(lock, std::chrono::duration<double>(seconds), [&] {
    return !group_->mailboxes[rank_].empty() || group_->world->failed_rank >= 0;
  });
}

void ThreadCommunicator::abort(int exit_code) {
  flush_log();
  throw Error(ExitCode(exit_code),
              error_message(fmt::format("rank {} ends the job with exit code {}", rank_, exit_code),
                            "abort was called", "see the lines above"));
}

}  // namespace

std::unique_ptr<Communicator> alone() {
  return std::make_unique<ThreadCommunicator>(std::make_shared<Group>(std::make_shared<World>(), 1),
                                              0, std::make_shared<Roll>());
}

void run_as_threads(int ranks, const std::function<void(Communicator&)>& body, int on_node) {
  const auto world = std::make_shared<World>();
  world->on_node = on_node;
  const auto group = std::make_shared<Group>(world, ranks);
  const auto run = [&](int rank) {
    try {
      ThreadCommunicator communicator(group, rank, std::make_shared<Roll>(rank));
      body(communicator);
    } catch (...) {
      const std::lock_guard lock(world->mutex);
      if (!world->failure) world->failure = std::current_exception(), world->failed_rank = rank;
      world->changed.notify_all();
    }
  };
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) threads.emplace_back(run, rank);
  for (std::thread& thread : threads) thread.join();
  if (world->failure) std::rethrow_exception(world->failure);
}

}  // namespace rollcall::comm
