// Messages over MPI. Private to comm.
#pragma once

#include "comm/messages.hpp"
#include "comm/mpi_waits.hpp"

#include <mpi.h>

#include <cstddef>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace rollcall::comm {

/// Non-blocking sends and receives. Later calls of any function finish a send. A message is
/// received in two steps: it is matched, and then its bytes arrive.
class MpiMessages final : public Messages {
 public:
  explicit MpiMessages(MpiWaits& waits) : waits_(&waits) {}  ///< `waits` must outlive the last call
  void send(int destination, int tag, std::string bytes) override;
  void send_all(std::span<const int> destinations, int tag, std::string bytes) override;
  std::optional<Envelope> try_receive() override;
  void pause(double seconds) override { waits_->pause(seconds); }
  /// Waits until all sends and receives are finished. Ends the job after `deadline_s` seconds.
  void drain(double deadline_s) noexcept;
  /// Leaves the buffers of unfinished messages to MPI, which may still use them.
  void abandon();

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
  void check_message(int destination, int tag, std::size_t bytes) const;
  /// Sends to another rank.
  void post(int destination, int tag, const std::shared_ptr<const std::string>& bytes);
  bool drive_send();  ///< tests one send and frees it; false if it is not finished
  /// Receives the next message, unless one is being received already. Returns whether it is
  /// complete.
  bool arrived();

  MpiWaits* waits_;
  std::list<Sending> sending_;    ///< a list, because MPI keeps pointers into its elements
  std::list<Arriving> arriving_;  ///< also a list; at most one element, to keep the order of
                                  ///< messages
  std::list<Envelope> to_self_;
};

}  // namespace rollcall::comm
