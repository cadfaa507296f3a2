// NCCL under the same interface as MPI. Sums are of integers and therefore exact, so both give the
// same bits. NCCL's communicators are non-blocking: every wait polls, has the group's deadline and
// answers roll calls.
#include "base/errors/error.hpp"
#include "base/errors/log.hpp"
#include "base/time/clock.hpp"
#include "comm/backoff.hpp"
#include "comm/device_collectives.hpp"
#include "comm/device_transport.hpp"

#include <fmt/format.h>
#include <nccl.h>

#include <algorithm>
#include <exception>

namespace rollcall::comm {
namespace {

constexpr std::size_t kSideBySide = 8;  ///< most broadcasts at a time, each with an equal part of
                                        ///< the work memory; plan_transfer plans no more

class NcclCollectives final : public DeviceCollectives {
 public:
  NcclCollectives(Communicator& group, std::shared_ptr<WorkMemory> work);
  ~NcclCollectives() override;
  NcclCollectives(const NcclCollectives&) = delete;
  NcclCollectives& operator=(const NcclCollectives&) = delete;

  void barrier() override {
    std::int64_t one = 1;
    sum({&one, 1});
  }
  void finish(const char* what) override {
    await(what, [&] { return work_->idle(); });
  }
  /// Queues ncclBroadcast on the stream, alone or between ncclGroupStart and ncclGroupEnd.
  void post_broadcast(std::byte* bytes, std::size_t count, int root) {
    take("ncclBroadcast",
         ncclBroadcast(bytes, bytes, count, ncclUint8, root, comm(), work_->stream()));
  }
  /// Waits until NCCL has queued the calls before this one on the device.
  void settle(const char* what) {
    await(what, [] { return true; });
  }
  void abort() noexcept;

 private:
  void sum_work(std::span<std::int64_t> values) override {
    reduce("ncclAllReduce", values, ncclInt64, ncclSum);
  }
  void maximum_work(std::span<double> values) override {
    reduce("ncclAllReduce", values, ncclFloat64, ncclMax);
  }
  void broadcast_work(std::span<std::byte> bytes, int root) override {
    post_broadcast(bytes.data(), bytes.size(), root);
    settle("ncclBroadcast");
  }
  void sum_to_shares_work(std::span<std::int64_t> values, std::size_t share) override {
    std::int64_t* own = values.data() + std::size_t(rank()) * share;
    take("ncclReduceScatter",
         ncclReduceScatter(values.data(), own, share, ncclInt64, ncclSum, comm(), work_->stream()));
    settle("ncclReduceScatter");
  }
  void gather_work(std::span<float> values, std::size_t share) override {
    const float* own = values.data() + std::size_t(rank()) * share;
    take("ncclAllGather",
         ncclAllGather(own, values.data(), share, ncclFloat32, comm(), work_->stream()));
    settle("ncclAllGather");
  }
  template <class T>
  void reduce(const char* call, std::span<T> values, ncclDataType_t type, ncclRedOp_t operation) {
    take(call, ncclAllReduce(values.data(), values.data(), values.size(), type, operation, comm(),
                             work_->stream()));
    settle(call);
  }
  ncclComm_t comm() const {
    require<ProtocolError>(comm_ != nullptr,
                           "a collective on a communicator of NCCL that an error has ended",
                           "its ranks are apart", "end the job");
    return comm_;
  }
  /// Checks the result of a call: throws on an error. ncclInProgress is not an error: the call
  /// continues in the background.
  void take(const char* call, ncclResult_t code);
  bool is_settled(const char* what);
  void await(const char* what, const std::function<bool()>& done);

  int exceptions_ = std::uncaught_exceptions();  ///< exceptions in flight at construction
  ncclComm_t comm_ = nullptr;
};

NcclCollectives::NcclCollectives(Communicator& group, std::shared_ptr<WorkMemory> work)
    : DeviceCollectives(group, std::move(work)) {
  ncclUniqueId id{};
  if (rank() == 0) take("ncclGetUniqueId", ncclGetUniqueId(&id));
  group_->broadcast(std::as_writable_bytes(std::span(id.internal)), 0);
  work_->use();
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  take("ncclCommInitRankConfig", ncclCommInitRankConfig(&comm_, size(), id, rank(), &config));
  settle("ncclCommInitRankConfig");
}

/// Ends the communicator cleanly if possible. Other ranks may be late, and after an error they may
/// never come.
NcclCollectives::~NcclCollectives() {
  if (comm_ == nullptr) return;
  if (std::uncaught_exceptions() > exceptions_) {
    abort();
    return;
  }
  try {
    take("ncclCommFinalize", ncclCommFinalize(comm_));
    settle("ncclCommFinalize");
    ncclCommDestroy(comm_);
  } catch (const std::exception& error) {  // the communicator is aborted by then
    log_error("{}", error.what());
  }
}

void NcclCollectives::abort() noexcept {
  if (comm_ != nullptr) ncclCommAbort(comm_);  // ends the kernel that waits on the device
  comm_ = nullptr;
}

void NcclCollectives::take(const char* call, ncclResult_t code) {
  if (code == ncclSuccess || code == ncclInProgress) return;
  const char* more = comm_ == nullptr ? "" : ncclGetLastError(comm_);
  const std::string why =
      fmt::format("{}{}{}", ncclGetErrorString(code), more[0] == '\0' ? "" : ": ", more);
  abort();
  throw ProtocolError(
      error_message(fmt::format("rank {}: {} failed", group_->roll()->world_rank, call), why,
                    "set NCCL_DEBUG=INFO to see its reason"));
}

bool NcclCollectives::is_settled(const char* what) {
  ncclResult_t state = ncclSuccess;
  take("ncclCommGetAsyncError", ncclCommGetAsyncError(comm(), &state));
  take(what, state);
  return state == ncclSuccess;
}

void NcclCollectives::await(const char* what, const std::function<bool()>& done) {
  try {
    group_->wait([&] { return is_settled(what) && done(); }, group_->collective_deadline_s(), what);
  } catch (...) {
    abort();
    throw;
  }
}

class NcclTransport final : public Transport {
 public:
  NcclTransport(int device, std::size_t bytes)
      : work_(std::make_shared<WorkMemory>(device, WorkMemory::Side::device, bytes)) {}
  std::unique_ptr<Collectives> over(Communicator& group) override {
    return std::make_unique<NcclCollectives>(group, work_);
  }
  void broadcast(std::span<const Broadcast> broadcasts) override;
  std::uint64_t checksum(std::span<const std::byte> bytes) override {
    return checksum_anywhere(bytes);
  }

 private:
  struct Leg {
    NcclCollectives* ranks;
    int root;
    std::span<std::byte> part;
    std::byte* work;
  };
  void run_round(std::span<const Leg> legs);
  std::shared_ptr<WorkMemory> work_;
};

/// Every rank cuts into the same parts, however many broadcasts it takes part in. One broadcast
/// after the other would not work: a rank in two of them may start the second while a rank in many
/// is still at the first parts of the first.
void NcclTransport::broadcast(std::span<const Broadcast> broadcasts) {
  expect(broadcasts.size() <= kSideBySide, "broadcasts side by side have room in the work memory");
  const std::size_t part = work_->bytes() / kSideBySide;
  std::size_t longest = 0;
  for (const Broadcast& one : broadcasts) longest = std::max(longest, one.bytes.size());
  for (std::size_t first = 0; first < longest; first += part) {
    std::vector<Leg> legs;
    for (std::size_t i = 0; i < broadcasts.size(); ++i) {
      const auto& [ranks, root, bytes] = broadcasts[i];
      if (first >= bytes.size()) continue;
      const auto piece = bytes.subspan(first, std::min(part, bytes.size() - first));
      legs.push_back({dynamic_cast<NcclCollectives*>(ranks), root, piece,
                      work_->holds(piece.data()) ? piece.data() : work_->begin() + i * part});
      expect(legs.back().ranks != nullptr, "the ranks of a broadcast are of this carrier");
    }
    run_round(legs);
  }
}

void NcclTransport::run_round(std::span<const Leg> legs) {
  bool grouped = false;
  try {
    work_->use();
    for (const Leg& leg : legs)
      if (leg.work != leg.part.data() && leg.ranks->rank() == leg.root)
        work_->copy(leg.work, leg.part.data(), leg.part.size());
    ncclGroupStart(), grouped = true;
    for (const Leg& leg : legs) leg.ranks->post_broadcast(leg.work, leg.part.size(), leg.root);
    const ncclResult_t code = ncclGroupEnd();
    grouped = false;
    require<ProtocolError>(code == ncclSuccess || code == ncclInProgress, "ncclGroupEnd failed",
                           ncclGetErrorString(code), "set NCCL_DEBUG=INFO to see its reason");
    for (const Leg& leg : legs) leg.ranks->settle("ncclBroadcast");
    for (const Leg& leg : legs)
      if (leg.work != leg.part.data() && leg.ranks->rank() != leg.root)
        work_->copy(leg.part.data(), leg.work, leg.part.size());
    legs.front().ranks->finish("broadcasts side by side");
  } catch (...) {
    if (grouped)
      ncclGroupEnd();  // without it, every later call would silently wait for the end of the group
    for (const Leg& leg : legs) leg.ranks->abort();  // kernels of other ranks wait for this device
    work_->drain();
    throw;
  }
}

}  // namespace

std::unique_ptr<Transport> nccl_transport(int device, std::size_t work_bytes) {
  return std::make_unique<NcclTransport>(device, work_bytes);
}

}  // namespace rollcall::comm
