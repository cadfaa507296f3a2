// Groups of ranks, their messages and their collectives: over MPI, over threads of one process (for
// tests), or for a single rank.
#pragma once

#include "comm/messages.hpp"
#include "comm/roll.hpp"
#include "core/collectives.hpp"
#include "core/shared_memory.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rollcall::comm {

class Communicator;

/// One of several broadcasts that run at the same time, each within its own group.
struct GroupBroadcast {
  Communicator* ranks = nullptr;
  int root = 0;
  std::span<std::byte> bytes{};
};

/// How long a communicator may wait, and has waited.
struct WaitTimes {
  double collective_deadline_s = 600.0;  ///< far longer than ranks differ in the slowest step
  double waited_s = 0.0;
};

/// A group of ranks with its own message space (its own MPI communicator). Only one thread of the
/// rank may call it (MPI_THREAD_FUNNELED).
class Communicator : public Collectives {
 public:
  // The functions of the same names in comm/messages.hpp describe the next three.
  void send(int destination, int tag, std::string bytes) {
    messages_->send(destination, tag, std::move(bytes));
  }
  void send_all(std::span<const int> destinations, int tag, std::string bytes) {
    messages_->send_all(destinations, tag, std::move(bytes));
  }
  std::optional<Envelope> try_receive() { return messages_->try_receive(); }
  /// Waits until `done`, for at most `deadline_s` seconds. The pauses between checks grow with the
  /// time waited. Throws ProtocolError at the deadline; `waiting_for` names the wait in the
  /// message. `on_idle` runs before each sleep (progress lines, stop requests). `giver` is the rank
  /// that gives this one its work, if there is one. The giver may have no work for a long time, so
  /// the deadline starts again whenever the giver answers that it is alive. Otherwise a rank with
  /// nothing to do would end a healthy run.
  void wait(const std::function<bool()>& done, double deadline_s, const std::string& waiting_for,
            const std::function<void()>& on_idle = {}, std::optional<int> giver = {});
  /// Ranks of the same color form a new communicator, ordered by rank. A rank with color < 0 gets
  /// nullptr. Collective.
  virtual std::unique_ptr<Communicator> split(int color) = 0;
  /// Ranks that can share memory (those of one node) form a new communicator, ordered by rank.
  /// Collective.
  virtual std::unique_ptr<Communicator> split_by_node() = 0;
  /// Ranks on one machine form a new communicator, whether or not they can share memory; ranks in
  /// separate containers cannot. Collective.
  virtual std::unique_ptr<Communicator> split_by_host() { return split_by_node(); }
  /// Memory that all ranks see. They must be able to share it (split_by_node). It is freed with the
  /// last view of it. Collective. Throws EnvironmentError.
  virtual SharedMemory share_memory(std::size_t bytes) = 0;
  /// Byte strings of all ranks, in rank order; their lengths may differ. Collective.
  virtual std::vector<std::string> gather_all(const std::string& bytes) = 0;
  // gather and scatter are made of gather_all unless a transport can move fewer bytes.
  /// Byte strings of all ranks, in rank order, at the root; an empty vector at the other ranks.
  /// Collective.
  virtual std::vector<std::string> gather(const std::string& bytes, int root);
  /// Returns the root's string for this rank. The root passes one string per rank, the other ranks
  /// pass an empty vector. Collective.
  virtual std::string scatter(const std::vector<std::string>& parts, int root);
  /// Runs several broadcasts, at the same time if the transport can. The first one's `ranks` is the
  /// object that this is called on, and its deadline applies. Every rank lists the broadcasts that
  /// it takes part in, in the same order.
  virtual void broadcast_together(std::span<const GroupBroadcast> broadcasts);
  /// Pointer to an MPI_Comm, which parallel HDF5 needs; nullptr when this is not MPI.
  virtual const void* mpi_handle() const { return nullptr; }
  /// Ends the whole job at once with this exit code. Threads throw an Error with that code instead,
  /// so that a test can see it.
  [[noreturn]] virtual void abort(int exit_code) = 0;
  /// What all communicators of this rank share: its number in the world, its activity, and the roll
  /// call of a wait that lasts too long.
  const std::shared_ptr<Roll>& roll() const { return roll_; }
  void set_activity(const std::string& what) { roll_->activity->begin(what); }
  /// Longest wait [s] inside one collective before it throws ProtocolError; split() passes the
  /// value on. After such an error only abort() may be called.
  void set_collective_deadline(double seconds) { times_.collective_deadline_s = seconds; }
  double collective_deadline_s() const { return times_.collective_deadline_s; }
  /// Time spent waiting in collectives, wait() and receive() [s], for the breakdown of a step.
  double waited_s() const { return times_.waited_s; }

 protected:
  std::unique_ptr<Messages> messages_;  ///< set by the derived class
  std::shared_ptr<Roll> roll_ = std::make_shared<Roll>();
  WaitTimes times_;
};

/// Waits for the next message from any rank, as Communicator::wait does.
Envelope receive(Communicator& ranks, double deadline_s, const std::string& waiting_for,
                 const std::function<void()>& on_idle = {}, std::optional<int> giver = {});
/// The root's bytes, of any length, on every rank; what other ranks pass is ignored. Uses two
/// broadcasts, so that no rank needs memory that grows with the number of ranks. Collective.
std::string spread(Communicator& ranks, std::string bytes, int root);

/// Starts MPI for the process (thread level FUNNELED) and ends it. A process without a launcher
/// becomes a world of one rank. If MPI was running before, the scope never ends it. Otherwise, when
/// an exception leaves the scope, the job is aborted, because an orderly end of MPI would wait for
/// ranks that never come. Throws EnvironmentError.
class MpiScope {
 public:
  MpiScope(int* argc, char*** argv);
  ~MpiScope();
  MpiScope(const MpiScope&) = delete;
  MpiScope& operator=(const MpiScope&) = delete;
  std::unique_ptr<Communicator> world() const;
  static std::string library_version();

 private:
  bool owner_ = false;  ///< this object started MPI and ends it
  int exceptions_ = 0;  ///< exceptions in flight at construction: if there are more in the
                        ///< destructor, an exception leaves the scope
};

/// Ends this process, and with it the job, with exit code 3. For a failure inside a library's
/// callback, which no exception may leave, while other ranks wait for this one. Prints `message`
/// and writes it to the failure file, unless another rank has already done so.
[[noreturn]] void end_process(const std::string& message);

/// A world of one rank, within this process.
std::unique_ptr<Communicator> alone();

/// Runs `body` on `ranks` threads that form a world, and rethrows the first exception after all
/// have ended. It serves tests of protocols and the thread sanitizer. `on_node` is the number of
/// ranks per node; the last node may have fewer; 0 puts all ranks on one node.
void run_as_threads(int ranks, const std::function<void(Communicator&)>& body, int on_node = 0);

int cores_available();             ///< CPUs in the affinity mask of this process
std::uint64_t memory_available();  ///< Bytes that this process may still use: what is free on the
                                   ///< node, or what a control group of the process or Slurm's
                                   ///< limit leaves if that is less.
/// Threads for rank `rank` of a node, at least one. Rank r may use the CPUs cpus[r], in the
/// kernel's numbering. A CPU that several ranks may use counts for each of them as a fraction, 1 /
/// their number.
int fair_cores(const std::vector<std::vector<int>>& cpus, std::size_t rank);
/// What a rank's node offers it: the defaults for its threads and memory.
struct NodeShare {
  int ranks = 1;  ///< ranks on this machine, whether or not they can share memory
  int cores = 1;  ///< threads for this rank, by fair_cores
  std::vector<std::uint64_t> memory;  ///< [ranks of the world] bytes that each rank may use
  std::vector<int> nodes{};  ///< [ranks of the world] lowest rank of the group that split_by_node()
                             ///< puts each rank into
};
/// `node` is this rank's group of world.split_by_node(). Collective.
NodeShare node_share(Communicator& world, Communicator& node);
/// The node and the CPUs of every rank, one line per node: "n1: ranks 0-1 on cores 0-3, rank 2 on
/// cores 4,5". For the log at startup. Collective.
std::vector<std::string> rank_map(Communicator& world);
std::string number_ranges(const std::vector<int>& ascending);  ///< 0 1 2 5 -> "0-2,5"

}  // namespace rollcall::comm
