// Ranks as MPI processes. Private to comm; other folders use Communicator.
#pragma once

#include "comm/backoff.hpp"
#include "comm/communicator.hpp"
#include "comm/node_rendezvous.hpp"
#include "comm/roll_call.hpp"

#include <mpi.h>

#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <vector>

namespace rollcall::comm {

/// Deadline of what happens before the run file is read, and at the end [s]: ranks may start and
/// end at different times.
constexpr double kStartDeadline_s = 600.0;

/// Throws ProtocolError with MPI's own text unless `code` is MPI_SUCCESS.
void check_mpi(int code, const char* call);

/// Refuses more than 2^31 - 1 bytes, because MPI counts in int. Control messages are kilobytes;
/// larger data travels by broadcast or as a file.
void require_one_message(std::size_t bytes, const char* what);

/// Messages and collectives over MPI. No call blocks inside the library, where Open MPI would spin:
/// every wait is a non-blocking operation, MPI_Test and Backoff. Where all ranks are on one node
/// (NodeRendezvous), a waiting rank sleeps until it is woken instead of polling, and short
/// collectives do not use MPI at all.
class MpiCommunicator final : public Communicator {
 public:
  MpiCommunicator(MPI_Comm own, std::shared_ptr<RollCall> roll);  ///< takes ownership of the handle
  ~MpiCommunicator() override;
  MpiCommunicator(const MpiCommunicator&) = delete;
  MpiCommunicator& operator=(const MpiCommunicator&) = delete;

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  void sum(std::span<std::int64_t> values) override;
  void maximum(std::span<double> values) override;
  void broadcast(std::span<std::byte> bytes, int root) override;
  void barrier() override;
  void sum_to_shares(std::span<std::int64_t> values,
                     std::span<const std::int64_t> share_offsets) override;
  void gather_shares(std::span<float> values, std::span<const std::int64_t> share_offsets) override;
  void send(int destination, int tag, std::string bytes) override;
  void send_all(std::span<const int> destinations, int tag, std::string bytes) override;
  std::optional<Envelope> try_receive() override;
  std::unique_ptr<Communicator> split(int color) override;
  std::unique_ptr<Communicator> split_by_node() override;
  std::unique_ptr<Communicator> split_by_host() override;
  SharedMemory share_memory(std::size_t bytes) override;
  std::vector<std::string> gather_all(const std::string& bytes) override;
  std::vector<std::string> gather(const std::string& bytes, int root) override;
  std::string scatter(const std::vector<std::string>& parts, int root) override;
  void broadcast_together(std::span<const GroupBroadcast> broadcasts) override;
  const void* mpi_handle() const override { return &comm_; }
  [[noreturn]] void abort(int exit_code) override;

 protected:
  void pause(double seconds) override;

 private:
  struct Sending {
    int destination = 0, tag = 0;
    std::shared_ptr<const std::string> bytes;  ///< shared by all messages of one send_all
    MPI_Request request = MPI_REQUEST_NULL;
  };
  struct Arriving {
    Envelope message;
    MPI_Request request = MPI_REQUEST_NULL;
  };
  /// Posts a non-blocking collective and sleeps until it is done. `root` is a rank that the others
  /// may be waiting for alone.
  template <class Post>
  void complete(const char* call, Post post, std::optional<int> root = {});
  /// Sleeps until all requests are done.
  void complete_all(const char* call, std::span<MPI_Request> requests,
                    const std::function<bool()>& early);
  /// Sleeps until `done`. While `early`, other ranks have not entered yet, so that it cannot be
  /// done and the rank may sleep until it is woken.
  void wait_in(const char* call, const std::function<bool()>& done,
               const std::function<bool()>& early);
  double longest_sleep(double seconds) const;  ///< `seconds`, or less while messages are
                                               ///< unfinished; also lets MPI make progress with
                                               ///< them
  void await_all(const char* what, std::uint32_t number);  ///< sleeps until all ranks have entered
  void await_rank(const char* what, int rank, std::uint32_t number);
  void await(const char* what, const std::function<bool()>& come);
  /// Enters the next collective, after `fill` has written this rank's contribution into its room.
  /// Returns the number of the collective.
  template <class Fill>
  std::uint32_t bring(const char* what, bool awaited, Fill fill);
  template <class T, class Merge>
  /// Merges the values of all ranks through shared memory. Returns false if they have to travel by
  /// MPI.
  bool merge_where_met(const char* what, std::span<T> values, Merge merge);
  std::size_t exchange_heads(const std::string& bytes, std::size_t head,
                             std::vector<std::uint64_t>& sizes, std::vector<std::string>& strings);
  std::unique_ptr<MpiCommunicator> part(int color);  ///< what split() does
  std::unique_ptr<MpiCommunicator> on_host();        ///< what split_by_host() does
  void meet(bool crowded);  ///< Uses shared memory from now on; all ranks must be able to share it.
                            ///< Collective.
  void check_message(int destination, int tag, std::size_t bytes) const;
  /// Sends to another rank.
  void post(int destination, int tag, const std::shared_ptr<const std::string>& bytes);
  bool drive_send();  ///< tests one send and frees it; false if it is not finished
  bool arrived();     ///< Receives the next message, unless one is being received already. Returns
                      ///< whether it is complete.
  void drain() noexcept;

  MPI_Comm comm_;
  int rank_ = 0, size_ = 1;
  int exceptions_ = 0;            ///< exceptions in flight at construction
  std::list<Sending> sending_;    ///< a list, because MPI keeps pointers into its elements
  std::list<Arriving> arriving_;  ///< also a list; at most one element, to keep the order of
                                  ///< messages
  std::list<Envelope> to_self_;
  std::vector<std::int64_t> addends_;    ///< what sum_to_shares receives; a member, because MPI may
                                         ///< write into it until the job ends
  std::shared_ptr<RollCall> roll_call_;  ///< the same object as roll_
  std::optional<NodeRendezvous> meeting_;
  bool crowded_ = false;  ///< the node has fewer cores than ranks, so a rank that waits gives its
                          ///< core away at once
  std::uint32_t rings_seen_ = 0;  ///< this rank's own bell before the last look for messages
};

/// A world of its own, over a duplicate of `comm`. Collective.
std::unique_ptr<Communicator> duplicate(MPI_Comm comm);

}  // namespace rollcall::comm
