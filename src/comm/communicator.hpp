// Ranks and what passes between them: bytes to a rank, and collectives. Over MPI, over threads of
// one process (tests), or alone.
#pragma once

#include "comm/activity.hpp"
#include "core/collectives.hpp"
#include "core/shared_memory.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rollcall::comm {

/// A message as it arrived. Tags are given in run/messages/messages.hpp and nowhere else.
struct Envelope {
  int source = 0;
  int tag = 0;
  std::string bytes;
};

class Communicator;

/// One of several broadcasts, each within ranks of its own.
struct GroupBroadcast {
  Communicator* ranks = nullptr;
  int root = 0;
  std::span<std::byte> bytes{};
};

/// A group of ranks with a private message space (its own MPI communicator). One thread calls it
/// (MPI_THREAD_FUNNELED).
class Communicator : public Collectives {
 public:
  /// This rank's number in the world that all its groups stem from: what messages and roll calls
  /// call it.
  virtual int world_rank() const { return rank(); }
  /// Sends without waiting for the receiver; messages between two ranks arrive in the order sent.
  /// Sending to oneself is allowed.
  virtual void send(int destination, int tag, std::string bytes) = 0;
  /// The same bytes to several ranks, which get what as many calls of send would give them. Where
  /// the transport can, one copy of the bytes serves them all.
  virtual void send_all(std::span<const int> destinations, int tag, std::string bytes);
  /// Next message from anyone if one is here. Drives outstanding sends.
  virtual std::optional<Envelope> try_receive() = 0;
  /// Waits for a message, polling with back-off to sleep, at most `deadline_s` seconds;
  /// `waiting_for` names the wait in the error (ProtocolError). `on_idle` runs before each sleep
  /// (progress lines, stop requests). `giver`: the rank that gives this one its work, if any. There
  /// may be none for long: whenever the giver says that it is there the deadline begins anew, so
  /// that who has nothing to do ends no run that goes on.
  Envelope receive(double deadline_s, const std::string& waiting_for,
                   const std::function<void()>& on_idle = {}, std::optional<int> giver = {});
  /// The same wait for anything else, for example what another thread of this rank does.
  void wait(const std::function<bool()>& done, double deadline_s, const std::string& waiting_for,
            const std::function<void()>& on_idle = {}, std::optional<int> giver = {});
  /// Members with color >= 0 form new communicators by color, ordered by rank; others get nullptr.
  /// Collective.
  virtual std::unique_ptr<Communicator> split(int color) = 0;
  /// Members that can share memory, those of a node, form new communicators, ordered by rank.
  /// Collective.
  virtual std::unique_ptr<Communicator> split_by_node() = 0;
  /// Members on one machine, whether or not they can share memory. Collective.
  virtual std::unique_ptr<Communicator> split_by_host() { return split_by_node(); }
  /// The same memory for all ranks, which can share it (split_by_node). It ends with the last view
  /// of it. Collective. Throws EnvironmentError.
  virtual SharedMemory share_memory(std::size_t bytes) = 0;
  /// Equal-size or ragged byte strings from all ranks, in rank order. Collective.
  virtual std::vector<std::string> gather_all(const std::string& bytes) = 0;
  // Of any length, between one rank and the others. Made of gather_all unless a transport moves
  // less.
  /// Byte strings of all ranks, in rank order, at the root; nothing at the others. Collective.
  virtual std::vector<std::string> gather(const std::string& bytes, int root);
  /// What the root has for this rank: it gives one string for each, the others none. Collective.
  virtual std::string scatter(const std::vector<std::string>& parts, int root);
  /// The root's bytes, of any length, on every rank; what the others bring does not count. Two
  /// broadcasts, so that no rank holds anything that grows with the number of ranks. Collective.
  std::string spread(std::string bytes, int root);
  /// All of them, side by side where the transport can. Called on the first one's ranks, whose
  /// deadline holds; every rank lists those that it takes part in, in one order for all.
  virtual void broadcast_together(std::span<const GroupBroadcast> broadcasts);
  /// The handle parallel HDF5 needs: pointer to an MPI_Comm, or nullptr when this is not MPI.
  virtual const void* mpi_handle() const { return nullptr; }
  /// Ends the whole job at once with this exit code. Among threads it throws an Error with that
  /// code instead, so that a test can see it.
  [[noreturn]] virtual void abort(int exit_code) = 0;
  /// What this rank is doing and waits for, shared by all communicators that stem from one world:
  /// for the report of a wait that lasts too long, which over MPI is a roll call of all ranks, and
  /// for a thread that looks on. `set_roles`: what a rank hosts.
  const std::shared_ptr<Activity>& activity() const { return activity_; }
  void set_activity(const std::string& what) { activity_->begin(what); }
  virtual void set_roles(const std::function<std::string(int rank)>&) {}
  /// Longest wait inside one collective before it throws ProtocolError; `split` hands it on. After
  /// such an error only abort() is left.
  void set_collective_deadline(double seconds) { collective_deadline_s_ = seconds; }
  double collective_deadline_s() const { return collective_deadline_s_; }
  /// Time spent waiting inside collectives and receive [s], for the breakdown of a step.
  double waited_s() const { return waited_s_; }

 protected:
  /// Before each sleep of a wait: tells who looks on, and who calls the roll.
  void say_waiting(std::string_view waiting_for) {
    activity_->waits(waiting_for);
    answer_roll_call(waiting_for);
  }
  virtual void answer_roll_call(std::string_view) {}  ///< asked before each sleep, told now and
                                                      ///< then: what this rank waits for, if
                                                      ///< anybody asks
  /// Asks a rank whether it is there, unless `asked`, and sets that; true once it has answered. A
  /// transport that cannot ask hears nothing.
  virtual bool hears(int, bool&) { return false; }
  virtual std::string call_the_roll(std::string_view) {
    return "the rank that should have sent it is stuck, has ended or is slower than the deadline allows";
  }
  /// Gives the core away for about `seconds` (0: only a turn of the scheduler); a transport that
  /// hears of arrivals returns early.
  virtual void pause(double seconds);
  std::shared_ptr<Activity> activity_ = std::make_shared<Activity>();
  double waited_s_ = 0.0;
  double collective_deadline_s_ = 600.0;  ///< well above the slowest step's imbalance between ranks
};

/// Starts MPI for the process (FUNNELED; a process without a launcher becomes a world of one rank)
/// and ends it. Where MPI runs already it is left running. When an exception leaves the scope the
/// job is aborted: ending MPI in order would wait for ranks that do not come. Throws
/// EnvironmentError.
class MpiScope {
 public:
  MpiScope(int* argc, char*** argv);
  ~MpiScope();
  MpiScope(const MpiScope&) = delete;
  MpiScope& operator=(const MpiScope&) = delete;
  std::unique_ptr<Communicator> world() const;
  static std::string library_version();

 private:
  bool owner_ = false;  ///< MPI was started here
  int exceptions_ = 0;  ///< in flight at construction
};

/// For a library's callback, which no exception may leave, on a rank that has failed where the
/// others wait for it. Says `message`, in the failure file too, unless another rank has spoken;
/// ends the process with exit code 3, and the job with it.
[[noreturn]] void end_process(const std::string& message);

/// One rank, in process.
std::unique_ptr<Communicator> alone();

/// Runs `body` on `ranks` threads that form a world, and rethrows the first exception after all
/// have ended. For protocol tests and tsan. `on_node`: how many make a node, the last one may have
/// fewer; 0: all.
void run_as_threads(int ranks, const std::function<void(Communicator&)>& body, int on_node = 0);

int cores_available();             ///< those that its affinity mask leaves the process
std::uint64_t memory_available();  ///< bytes: what the node has free, or what a control group of
                                   ///< the process may use where that is less
/// Threads for a rank of a node of which rank r may use the CPUs cpus[r], as the kernel numbers
/// them: each counts for one over the ranks that may use it; at least one.
int fair_cores(const std::vector<std::vector<int>>& cpus, std::size_t rank);
/// What the node leaves each of the ranks on it: the default of a rank's threads and memory.
struct NodeShare {
  int ranks = 1;                      ///< on the node, whether or not they can share memory
  int cores = 1;                      ///< fair_cores
  std::vector<std::uint64_t> memory;  ///< [ranks] bytes, of every rank of the world
  std::vector<int> nodes{};           ///< [ranks] lowest rank with which each can share memory
                                      ///< (split_by_node)
};
/// `node`: the caller's part of world.split_by_node(). Collective
NodeShare node_share(Communicator& world, Communicator& node);
/// Where the ranks are and what they are bound to, a line a node: "n1: ranks 0-1 on cores 0-3, rank
/// 2 on cores 4,5". Collective; for the log at start.
std::vector<std::string> rank_map(Communicator& world);
std::string number_ranges(const std::vector<int>& ascending);  ///< 0 1 2 5 -> "0-2,5"

}  // namespace rollcall::comm
