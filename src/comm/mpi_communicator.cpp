// Messages and collectives over MPI that sleep while they wait.
#include "comm/mpi_communicator.hpp"

#include "base/error.hpp"
#include "base/log.hpp"
#include "comm/shares.hpp"
#include "comm/timed_call.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <exception>
#include <numeric>
#include <utility>

namespace rollcall::comm {
namespace {

/// Long buffers travel in parts: counts stay far below the 2^31 of MPI's int, and each part starts with a fresh, hot Backoff (a long collective
/// consists of many small exchanges inside MPI_Test, and at two polls a millisecond they would crawl). Of 64 KiB to 16 MiB, 4 MiB measured best.
constexpr std::size_t kPartBytes = std::size_t{4} << 20;
constexpr std::size_t kHeadBytes = 248;                      // of each string of a gather: they need no exchange of their own
constexpr std::size_t kHeadsBytes = std::size_t{256} << 10;  // of all of them, at most
constexpr std::size_t kRoundBytes = std::size_t{64} << 20;   // of a gather: it is copied once more from there

template <class T, class Act>
void for_each_part(std::span<T> values, Act act) {
  const std::size_t part = kPartBytes / sizeof(T);
  for (std::size_t first = 0; first < values.size(); first += part) {
    const auto piece = values.subspan(first, std::min(part, values.size() - first));
    act(piece.data(), int(piece.size()));
  }
}

/// The same piece of every share: how many elements of it and where they lie in the buffer.
struct Pieces {
  std::vector<int> counts, places;  ///< [ranks]
  std::size_t end() const { return std::size_t(places.back()) + std::size_t(counts.back()); }
};

/// Strings of these lengths from byte `first` on, in rounds of kRoundBytes: MPI counts bytes in an int, and a step may have more than that holds. One round where
/// it all fits, however few ranks it is from, else each rank's share of a round. act(first, pieces): what of each is next, one behind the other.
template <class Act>
void in_rounds(std::span<const std::uint64_t> sizes, std::uint64_t first, Act act) {
  const std::uint64_t longest = *std::max_element(sizes.begin(), sizes.end());
  const std::uint64_t all = std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0});
  const std::uint64_t most = all <= kRoundBytes ? longest : std::max<std::uint64_t>(kRoundBytes / std::uint64_t(sizes.size()), 1024);
  Pieces pieces{std::vector<int>(sizes.size()), std::vector<int>(sizes.size())};
  for (; first < longest; first += most) {
    const auto count = [&](std::uint64_t size) { return int(std::min(most, size - std::min(size, first))); };
    std::transform(sizes.begin(), sizes.end(), pieces.counts.begin(), count);
    std::exclusive_scan(pieces.counts.begin(), pieces.counts.end(), pieces.places.begin(), 0);
    act(first, pieces);
  }
}

/// Shares piece by piece, so that all ranks send and receive all the time and one round moves about kPartBytes.
template <class T, class Act>
void for_each_piece(std::span<const std::int64_t> begins, Act act) {
  const std::size_t ranks = begins.size() - 1;
  const auto step = std::max<std::int64_t>(std::int64_t(kPartBytes / sizeof(T) / ranks), 1);
  const std::int64_t longest = longest_share(begins);
  for (std::int64_t first = 0; first < longest; first += step) {
    Pieces pieces;
    for (std::size_t r = 0; r < ranks; ++r) {
      const std::int64_t length = begins[r + 1] - begins[r], from = std::min(first, length);
      pieces.counts.push_back(int(std::min(step, length - from)));
      pieces.places.push_back(int(begins[r] + from));
    }
    act(pieces);
  }
}

/// Direct exchange would cost an owner more than it moves in an all-reduce (few shares, many ranks), or MPI's int cannot tell the places.
bool shares_go_whole(std::span<const std::int64_t> begins) {
  const std::int64_t size = begins.back(), others = std::int64_t(begins.size()) - 2;
  return size > INT_MAX || longest_share(begins) > 2 * size / std::max<std::int64_t>(others, 1);
}

}  // namespace

void check_mpi(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "unknown error";
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw ProtocolError(error_message(fmt::format("{} failed", call), text, "see the MPI library's own lines above; the job cannot go on"));
}

void require_one_message(std::size_t bytes, const char* what) {
  require<ProtocolError>(bytes <= std::size_t(INT_MAX), fmt::format("{} of {} bytes", what, bytes),
                         fmt::format("one MPI message holds at most {} bytes", INT_MAX), "send it in parts, by broadcast or as a file");
}

MpiCommunicator::MpiCommunicator(MPI_Comm own, std::shared_ptr<RollCall> roll) : comm_(own), exceptions_(std::uncaught_exceptions()), roll_(std::move(roll)) {
  activity_ = roll_->activity;
  check_mpi(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  check_mpi(MPI_Comm_rank(comm_, &rank_), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(comm_, &size_), "MPI_Comm_size");
}

MpiCommunicator::~MpiCommunicator() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (finalized) return;
  if (std::uncaught_exceptions() > exceptions_) {
    // The job is about to end; until then MPI may still touch the buffers of unfinished messages, so they are left to it.
    new std::list<Transfer>(std::move(sending_));
    new std::list<Transfer>(std::move(arriving_));
    return;
  }
  drain();
  MPI_Comm_free(&comm_);
}

template <class Post>
void MpiCommunicator::complete(const char* call, Post post) {
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(post(&request), call);
  complete_all(call, std::span(&request, 1));
}

void MpiCommunicator::complete_all(const char* call, std::span<MPI_Request> requests) {
  Backoff wait;
  std::string where;  // once the wait is long
  for (int done = 0;;) {
    done = 1;
    for (MPI_Request& request : requests) {  // not MPI_Testall: it does not look again after it has made progress, and hides which error it met
      int one = 0;
      check_mpi(MPI_Test(&request, &one, MPI_STATUS_IGNORE), call);
      done &= one;
    }
    const double waited = wait.waited_s();
    if (done || waited >= collective_deadline_s_) {
      waited_s_ += waited;
      if (done) return activity_->wait_ended();
      throw ProtocolError(error_message(fmt::format("rank {} of {} waited {:.3g} s in {}", roll_->rank(), roll_->size(), waited, call),
                                        call_the_roll(fmt::format("in {}", call)), "look at that rank's node and its last log line, or raise run.deadline_s"));
    }
    const double pause_s = wait.pause_s();
    if (pause_s > 0) {
      if (where.empty()) where = fmt::format("in {}", call);
      say_waiting(where);
    }
    pause(pause_s);
  }
}

void MpiCommunicator::sum(std::span<std::int64_t> values) {
  for_each_part(values, [&](std::int64_t* part, int count) {
    complete("MPI_Iallreduce", [&](MPI_Request* r) { return MPI_Iallreduce(MPI_IN_PLACE, part, count, MPI_INT64_T, MPI_SUM, comm_, r); });
  });
}

void MpiCommunicator::maximum(std::span<double> values) {
  for_each_part(values, [&](double* part, int count) {
    complete("MPI_Iallreduce", [&](MPI_Request* r) { return MPI_Iallreduce(MPI_IN_PLACE, part, count, MPI_DOUBLE, MPI_MAX, comm_, r); });
  });
}

void MpiCommunicator::broadcast(std::span<std::byte> bytes, int root) {
  for_each_part(bytes,
                [&](std::byte* part, int count) { complete("MPI_Ibcast", [&](MPI_Request* r) { return MPI_Ibcast(part, count, MPI_BYTE, root, comm_, r); }); });
}

void MpiCommunicator::broadcast_together(std::span<const GroupBroadcast> broadcasts) {
  std::size_t longest = 0;
  for (const auto& one : broadcasts) longest = std::max(longest, one.bytes.size());
  for (std::size_t first = 0; first < longest; first += kPartBytes) {
    std::vector<MPI_Request> requests;
    for (const auto& [ranks, root, bytes] : broadcasts) {
      if (first >= bytes.size()) continue;
      const auto part = bytes.subspan(first, std::min(kPartBytes, bytes.size() - first));
      const auto* comm = static_cast<const MPI_Comm*>(ranks->mpi_handle());
      expect(comm != nullptr, "broadcasts side by side are of one transport");
      check_mpi(MPI_Ibcast(part.data(), int(part.size()), MPI_BYTE, root, *comm, &requests.emplace_back(MPI_REQUEST_NULL)), "MPI_Ibcast");
    }
    complete_all("MPI_Ibcast", requests);
  }
}

void MpiCommunicator::barrier() {
  complete("MPI_Ibarrier", [&](MPI_Request* r) { return MPI_Ibarrier(comm_, r); });
}

// Every rank sends each other one its piece and adds what it gets: in total half of what an all-reduce moves. Open MPI's MPI_Ireduce_scatter reduces to one
// rank first.
void MpiCommunicator::sum_to_shares(std::span<std::int64_t> values, std::span<const std::int64_t> begins) {
  if (shares_go_whole(begins)) return Collectives::sum_to_shares(values, begins);
  for_each_piece<std::int64_t>(begins, [&](Pieces& pieces) {
    const int own = std::exchange(pieces.counts[std::size_t(rank_)], 0), place = pieces.places[std::size_t(rank_)];
    std::vector<int> counts(std::size_t(size_), own), places(std::size_t(size_), 0);
    counts[std::size_t(rank_)] = 0;
    std::exclusive_scan(counts.begin(), counts.end(), places.begin(), 0);
    addends_.resize(std::size_t(own) * std::size_t(size_ - 1));
    complete("MPI_Ialltoallv", [&](MPI_Request* r) {
      return MPI_Ialltoallv(values.data(), pieces.counts.data(), pieces.places.data(), MPI_INT64_T, addends_.data(), counts.data(), places.data(), MPI_INT64_T,
                            comm_, r);
    });
    for (std::size_t from = 0; from < addends_.size(); from += std::size_t(own))
      std::transform(addends_.begin() + std::ptrdiff_t(from), addends_.begin() + std::ptrdiff_t(from) + own, values.begin() + place, values.begin() + place,
                     [](std::int64_t a, std::int64_t b) { return std::int64_t(std::uint64_t(a) + std::uint64_t(b)); });  // wraps like MPI's
  });
}

void MpiCommunicator::gather_shares(std::span<float> values, std::span<const std::int64_t> begins) {
  if (shares_go_whole(begins)) return Collectives::gather_shares(values, begins);
  for_each_piece<float>(begins, [&](const Pieces& pieces) {
    complete("MPI_Iallgatherv", [&](MPI_Request* r) {
      return MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, values.data(), pieces.counts.data(), pieces.places.data(), MPI_FLOAT, comm_, r);
    });
  });
}

/// What is short travels with its length.
std::vector<std::string> MpiCommunicator::gather_all(const std::string& bytes) {
  const std::uint64_t own = bytes.size();
  const std::size_t head = std::min(kHeadBytes, kHeadsBytes / std::size_t(size_)), each = sizeof own + head;
  std::string heads(each * std::size_t(size_), '\0');
  char* const mine = heads.data() + each * std::size_t(rank_);
  std::memcpy(mine, &own, sizeof own);
  std::copy_n(bytes.begin(), std::min(bytes.size(), head), mine + sizeof own);
  complete("MPI_Iallgather", [&](MPI_Request* r) { return MPI_Iallgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, heads.data(), int(each), MPI_BYTE, comm_, r); });
  std::vector<std::string> strings(size_);
  std::vector<std::uint64_t> sizes(size_);
  for (std::size_t source = 0; source < sizes.size(); ++source) {
    std::memcpy(&sizes[source], heads.data() + each * source, sizeof own);
    strings[source].reserve(sizes[source]);
    strings[source].assign(heads.data() + each * source + sizeof own, std::min<std::uint64_t>(sizes[source], head));
  }
  std::string all;
  in_rounds(sizes, head, [&](std::uint64_t first, const Pieces& pieces) {
    all.resize(pieces.end());
    complete("MPI_Iallgatherv", [&](MPI_Request* r) {
      return MPI_Iallgatherv(bytes.data() + std::min(own, first), pieces.counts[std::size_t(rank_)], MPI_BYTE, all.data(), pieces.counts.data(),
                             pieces.places.data(), MPI_BYTE, comm_, r);
    });
    for (std::size_t source = 0; source < strings.size(); ++source)
      strings[source].append(all, std::size_t(pieces.places[source]), std::size_t(pieces.counts[source]));
  });
  return strings;
}

std::vector<std::string> MpiCommunicator::gather(const std::string& bytes, int root) {
  std::vector<std::uint64_t> sizes(size_);
  sizes[std::size_t(rank_)] = bytes.size();
  complete("MPI_Iallgather", [&](MPI_Request* r) { return MPI_Iallgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, sizes.data(), 1, MPI_UINT64_T, comm_, r); });
  std::vector<std::string> strings(rank_ == root ? size_ : 0);
  for (std::size_t source = 0; source < strings.size(); ++source) strings[source].reserve(sizes[source]);
  in_rounds(sizes, 0, [&](std::uint64_t first, const Pieces& pieces) {
    std::string all(rank_ == root ? pieces.end() : 0, '\0');
    complete("MPI_Igatherv", [&](MPI_Request* r) {
      return MPI_Igatherv(bytes.data() + std::min<std::uint64_t>(bytes.size(), first), pieces.counts[std::size_t(rank_)], MPI_BYTE, all.data(),
                          pieces.counts.data(), pieces.places.data(), MPI_BYTE, root, comm_, r);
    });
    for (std::size_t source = 0; source < strings.size(); ++source)
      strings[source].append(all, std::size_t(pieces.places[source]), std::size_t(pieces.counts[source]));
  });
  return strings;
}

std::string MpiCommunicator::scatter(const std::vector<std::string>& parts, int root) {
  expect(parts.size() == std::size_t(rank_ == root ? size_ : 0), "scatter: the root has a part for every rank");
  std::vector<std::uint64_t> sizes(size_);
  std::transform(parts.begin(), parts.end(), sizes.begin(), [](const std::string& part) { return part.size(); });
  broadcast(std::as_writable_bytes(std::span(sizes)), root);
  std::string own(sizes[std::size_t(rank_)], '\0');
  in_rounds(sizes, 0, [&](std::uint64_t first, const Pieces& pieces) {
    std::string all;
    for (std::size_t to = 0; to < parts.size(); ++to) all.append(parts[to], std::min<std::uint64_t>(sizes[to], first), std::size_t(pieces.counts[to]));
    complete("MPI_Iscatterv", [&](MPI_Request* r) {
      return MPI_Iscatterv(all.data(), pieces.counts.data(), pieces.places.data(), MPI_BYTE, own.data() + std::min<std::uint64_t>(own.size(), first),
                           pieces.counts[std::size_t(rank_)], MPI_BYTE, root, comm_, r);
    });
  });
  return own;
}

void MpiCommunicator::send(int destination, int tag, std::string bytes) {
  expect(destination >= 0 && destination < size_ && tag >= 0, "send: destination is a rank and the tag is not negative");
  require_one_message(bytes.size(), "sending a message");
  if (destination == rank_) return void(to_self_.push_back({rank_, tag, std::move(bytes)}));
  Transfer& transfer = sending_.emplace_back(Transfer{{destination, tag, std::move(bytes)}});
  const std::string& payload = transfer.message.bytes;
  check_mpi(MPI_Isend(payload.data(), int(payload.size()), MPI_BYTE, destination, tag, comm_, &transfer.request), "MPI_Isend");
  drive_send();
}

bool MpiCommunicator::drive_send() {
  if (sending_.empty()) return false;
  int done = 0;
  check_mpi(MPI_Test(&sending_.front().request, &done, MPI_STATUS_IGNORE), "MPI_Test of a send");
  if (done) {
    sending_.pop_front();
  } else {
    sending_.splice(sending_.end(), sending_, sending_.begin());  // its turn comes again after the others
  }
  return done;
}

bool MpiCommunicator::arrived() {
  int done = 0;
  if (arriving_.empty()) {
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status;
    check_mpi(MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm_, &done, &message, &status), "MPI_Improbe");
    if (!done) return false;
    int count = 0;
    check_mpi(MPI_Get_count(&status, MPI_BYTE, &count), "MPI_Get_count");
    Transfer& transfer = arriving_.emplace_back(Transfer{{status.MPI_SOURCE, status.MPI_TAG, std::string(std::size_t(count), '\0')}});
    check_mpi(MPI_Imrecv(transfer.message.bytes.data(), count, MPI_BYTE, &message, &transfer.request), "MPI_Imrecv");
  }
  check_mpi(MPI_Test(&arriving_.front().request, &done, MPI_STATUS_IGNORE), "MPI_Test of a receive");
  return done;
}

std::optional<Envelope> MpiCommunicator::try_receive() {
  while (drive_send()) {
  }
  Envelope next;
  if (arrived()) {
    next = std::move(arriving_.front().message);
    arriving_.clear();
  } else if (!to_self_.empty()) {  // after the others: a rank that feeds itself must not starve them
    next = std::move(to_self_.front());
    to_self_.pop_front();
  } else {
    return std::nullopt;
  }
  return next;
}

std::unique_ptr<Communicator> MpiCommunicator::split(int color) {
  barrier();  // MPI_Comm_split has no non-blocking form: come together asleep, so that it finds everyone here
  const TimedCall guard(collective_deadline_s_, "MPI_Comm_split");
  MPI_Comm part = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split(comm_, color >= 0 ? color : MPI_UNDEFINED, rank_, &part), "MPI_Comm_split");
  if (part == MPI_COMM_NULL) return nullptr;
  auto communicator = std::make_unique<MpiCommunicator>(part, roll_);
  communicator->set_collective_deadline(collective_deadline_s_);
  return communicator;
}

void MpiCommunicator::abort(int exit_code) {
  spdlog::default_logger()->flush();
  std::fflush(nullptr);
  constexpr double kAbortDeadline_s = 10.0;  // a launcher that has gone does not answer
  const TimedCall guard(kAbortDeadline_s, "MPI_Abort");
  MPI_Abort(comm_, exit_code);
  std::_Exit(exit_code);  // MPI_Abort may return when the launcher is gone
}

void MpiCommunicator::drain() noexcept {
  Backoff wait;
  while (!(sending_.empty() && arriving_.empty()) && wait.waited_s() < collective_deadline_s_) {
    if (!arriving_.empty() && arrived()) arriving_.clear();
    if (!drive_send()) pause(wait.pause_s());
  }
  if (sending_.empty() && arriving_.empty()) return;
  const Envelope& lost = (sending_.empty() ? arriving_ : sending_).front().message;
  spdlog::critical("rank {} waited {:.3g} s for the end of a message of {} bytes with tag {} {} rank {} (its receiver has gone); the job ends", rank_,
                   wait.waited_s(), lost.bytes.size(), lost.tag, sending_.empty() ? "from" : "to", lost.source);
  abort(int(ExitCode::failed));
}

std::unique_ptr<Communicator> duplicate(MPI_Comm comm) {
  const TimedCall guard(kStartDeadline_s, "MPI_Comm_dup");
  MPI_Comm own = MPI_COMM_NULL;
  check_mpi(MPI_Comm_dup(comm, &own), "MPI_Comm_dup");
  return std::make_unique<MpiCommunicator>(own, std::make_shared<RollCall>(comm));
}

}  // namespace rollcall::comm
