// NCCL's calls over MPI, on the emulated device: collectives begin when their stream comes to them
// and end when all ranks' messages are there. A non-blocking communicator is in progress until it
// has been asked twice; only then is its work queued, so whoever does not ask copies too early.
#include "stand_in.hpp"

#include "emulation.hpp"

#include <mpi.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <list>
#include <memory>
#include <set>
#include <vector>

namespace {

stand_in::Counts counted{};
ncclResult_t next_failure = ncclSuccess, next_group = ncclSuccess;

struct Message {
  std::vector<std::byte> bytes;
  MPI_Request request = MPI_REQUEST_NULL;
  bool done() {
    int arrived = 0;
    MPI_Test(&request, &arrived, MPI_STATUS_IGNORE);
    return arrived != 0;
  }
};
using Messages = std::list<Message>;

void post_send(Messages& to, const void* bytes, std::size_t count, int rank, int tag) {
  const auto* begin = static_cast<const std::byte*>(bytes);
  Message& message = to.emplace_back(Message{{begin, begin + count}});
  counted.sent += std::int64_t(count);
  MPI_Isend(message.bytes.data(), int(count), MPI_BYTE, rank, tag, MPI_COMM_WORLD,
            &message.request);
}
void post_receive(Messages& from, std::size_t count, int rank, int tag) {
  Message& message = from.emplace_back(Message{std::vector<std::byte>(count)});
  MPI_Irecv(message.bytes.data(), int(count), MPI_BYTE, rank, tag, MPI_COMM_WORLD,
            &message.request);
}
bool all_done(Messages& messages) {
  return std::all_of(messages.begin(), messages.end(),
                     [](Message& message) { return message.done(); });
}
/// Receives end; MPI keeps what is still being sent.
void give_up(Messages& receives, Messages& sends) {
  for (Message& message : receives)
    if (!message.done())
      MPI_Cancel(&message.request), MPI_Wait(&message.request, MPI_STATUS_IGNORE);
  if (!all_done(sends)) new Messages(std::move(sends));
  receives.clear(), sends.clear();
}

struct State;
/// Of one communicator: what goes to whom, what is made of what comes.
struct Operation {
  std::shared_ptr<State> state;
  cudaStream_t stream = nullptr;
  int tag = 0;
  std::function<void(Operation&)> begin;
  std::function<void(Operation&)> end;
  Messages sends{}, receives{};
  bool begun = false, ended = false;
  bool advance();
};

struct Group {
  std::vector<std::shared_ptr<Operation>> operations;
  std::set<State*> unasked;
};

/// Where the ranks meet: tags 1 + 2 number and 2 + 2 number.
struct State {
  int rank = 0, size = 1, number = 0, operations = 0, asked = 0;
  std::vector<int> world{};  ///< [size] MPI ranks; empty: not met yet
  int owner = 0;
  Messages hellos{}, answers{}, table{};
  bool aborted = false, ending = false;
  ncclResult_t failed = ncclSuccess;
  std::shared_ptr<Group> group{};  ///< that waits to be queued

  bool meet();
};

bool State::meet() {
  if (!world.empty()) return true;
  int me = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  if (table.empty()) {
    const int hello[2] = {rank, me};
    if (me == owner)
      for (int r = 0; r < size; ++r)
        post_receive(hellos, sizeof hello, MPI_ANY_SOURCE, 1 + 2 * number);
    post_receive(table, std::size_t(size) * sizeof(int), owner, 2 + 2 * number);
    post_send(answers, hello, sizeof hello, owner, 1 + 2 * number);
  }
  if (!hellos.empty() && all_done(hellos)) {
    std::vector<int> ranks(static_cast<std::size_t>(size));
    for (const Message& message : hellos) {
      int hello[2];
      std::memcpy(hello, message.bytes.data(), sizeof hello);
      ranks[std::size_t(hello[0])] = hello[1];
    }
    hellos.clear();
    for (const int to : ranks)
      post_send(answers, ranks.data(), ranks.size() * sizeof(int), to, 2 + 2 * number);
  }
  if (!all_done(table) || !all_done(answers)) return false;
  world.resize(std::size_t(size));
  std::memcpy(world.data(), table.front().bytes.data(), world.size() * sizeof(int));
  return true;
}

bool Operation::advance() {
  if (state->aborted) give_up(receives, sends), ended = true;
  if (ended) return true;
  if (!begun) begun = true, begin(*this);
  if (!all_done(receives) || !all_done(sends)) return false;
  end(*this);
  return ended = true;
}

int depth = 0;
std::shared_ptr<Group> open_group;

/// On the stream, begun together.
void queue(const std::shared_ptr<Group>& group) {
  emulation::push_work(group->operations.front()->stream, [group] {
    bool done = true;
    for (const auto& operation : group->operations) done = operation->advance() && done;
    return done;
  });
}

std::size_t bytes_of(ncclDataType_t type) {
  return type == ncclUint8 || type == ncclInt8 ? 1 : type == ncclFloat32 ? 4 : 8;
}

}  // namespace

struct ncclComm {
  std::shared_ptr<State> state;
};

namespace {

ncclResult_t add(ncclComm_t comm, cudaStream_t stream, std::function<void(Operation&)> begin,
                 std::function<void(Operation&)> end) {
  auto operation = std::make_shared<Operation>(
      Operation{comm->state, stream, 0, std::move(begin), std::move(end)});
  operation->tag = 1 + 2 * 1024 + (comm->state->number * 4096 + comm->state->operations++ % 4096);
  ncclGroupStart();
  open_group->operations.push_back(std::move(operation));
  return ncclGroupEnd();
}

/// Every rank's bytes to every rank; end(messages by rank).
ncclResult_t exchange(ncclComm_t comm, cudaStream_t stream,
                      std::function<std::pair<const void*, std::size_t>(int to)> part,
                      std::size_t arriving,
                      std::function<void(const std::vector<const std::byte*>&)> fold) {
  const auto begin = [part, arriving](Operation& o) {
    for (int r = 0; r < o.state->size; ++r) {
      const auto [bytes, count] = part(r);
      post_receive(o.receives, arriving, o.state->world[std::size_t(r)], o.tag);
      post_send(o.sends, bytes, count, o.state->world[std::size_t(r)], o.tag);
    }
  };
  return add(comm, stream, begin, [fold](Operation& o) {
    std::vector<const std::byte*> all;
    for (const Message& message : o.receives) all.push_back(message.bytes.data());
    fold(all);
  });
}

template <class T>
void fold_values(const std::vector<const std::byte*>& all, ncclRedOp_t operation, void* to,
                 std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const auto at = [&](std::size_t r) { return reinterpret_cast<const T*>(all[r])[i]; };
    T value = at(0);
    for (std::size_t r = 1; r < all.size(); ++r)
      value = operation == ncclMax ? std::max(value, at(r)) : value + at(r);
    static_cast<T*>(to)[i] = value;
  }
}
void fold(const std::vector<const std::byte*>& all, ncclDataType_t type, ncclRedOp_t operation,
          void* to, std::size_t count) {
  if (type == ncclInt64) fold_values<std::uint64_t>(all, operation, to, count);
  else fold_values<double>(all, operation, to, count);
}

}  // namespace

stand_in::Counts stand_in::counts() { return counted; }
void stand_in::fail_next(ncclResult_t state) { next_failure = state; }
void stand_in::refuse_next_group(ncclResult_t code) { next_group = code; }

const char* ncclGetErrorString(ncclResult_t result) {
  return result == ncclRemoteError ? "remote process exited or there was a network error"
                                   : "unhandled error";
}
const char* ncclGetLastError(ncclComm_t) { return ""; }

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  static int number = 0;
  int who[2] = {0, 0};
  MPI_Comm_rank(MPI_COMM_WORLD, &who[0]);
  who[1] = who[0] + 16 * (number++ % 64);
  std::memcpy(id->internal, who, sizeof who);
  return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank,
                                    ncclConfig_t* config) {
  if (config->blocking != 0)
    return ncclInvalidUsage;  // would hang for good where a rank never
                              // comes
  int who[2];
  std::memcpy(who, id.internal, sizeof who);
  *comm = new ncclComm{std::make_shared<State>(
      State{.rank = rank, .size = ranks, .number = who[1], .owner = who[0]})};
  ++counted.communicators;
  return ncclInProgress;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* answer) {
  State& state = *comm->state;
  if (next_failure != ncclSuccess) state.failed = std::exchange(next_failure, ncclSuccess);
  *answer = state.failed;
  if (state.failed != ncclSuccess) return ncclSuccess;
  *answer = ncclInProgress;
  if (!state.meet() || (state.group != nullptr && state.asked++ == 0)) return ncclSuccess;
  if (const auto group = std::exchange(state.group, nullptr)) {
    group->unasked.erase(&state), state.asked = 0;
    if (group->unasked.empty()) queue(group);
  }
  *answer = ncclSuccess;
  return ncclSuccess;
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  return comm->state->ending = true, ncclInProgress;
}
ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  if (!comm->state->ending) return ncclInvalidUsage;
  ++counted.destroyed;
  delete comm;
  return ncclSuccess;
}
ncclResult_t ncclCommAbort(ncclComm_t comm) {
  State& state = *comm->state;
  state.aborted = true;
  state.group = nullptr;  // which holds its operations, and they this state
  give_up(state.hellos, state.answers), give_up(state.table, state.answers);
  ++counted.aborted;
  delete comm;
  return ncclSuccess;
}

ncclResult_t ncclGroupStart() {
  if (depth++ == 0) open_group = std::make_shared<Group>();
  return ncclSuccess;
}
ncclResult_t ncclGroupEnd() {
  if (--depth > 0) return ncclSuccess;
  const auto group = std::exchange(open_group, nullptr);
  if (group->operations.empty()) return ncclSuccess;
  if (next_group != ncclSuccess) return std::exchange(next_group, ncclSuccess);
  ++counted.groups;
  counted.most_in_group = std::max(counted.most_in_group, int(group->operations.size()));
  for (const auto& operation : group->operations) {
    // was not asked after the call before
    if (operation->state->group != nullptr || operation->state->world.empty())
      return ncclInvalidUsage;
    group->unasked.insert(operation->state.get());
  }
  for (const auto& operation : group->operations) operation->state->group = group;
  return ncclInProgress;
}

ncclResult_t ncclAllReduce(const void* from, void* to, std::size_t count, ncclDataType_t type,
                           ncclRedOp_t operation, ncclComm_t comm, cudaStream_t stream) {
  const std::size_t bytes = count * bytes_of(type);
  return exchange(
      comm, stream, [=](int) { return std::pair(from, bytes); }, bytes,
      [=](const auto& all) { fold(all, type, operation, to, count); });
}
ncclResult_t ncclReduceScatter(const void* from, void* to, std::size_t count, ncclDataType_t type,
                               ncclRedOp_t operation, ncclComm_t comm, cudaStream_t stream) {
  const std::size_t bytes = count * bytes_of(type);
  counted.scattered += std::int64_t(bytes) * comm->state->size;
  const auto part = [=](int r) {
    return std::pair(
        static_cast<const void*>(static_cast<const std::byte*>(from) + std::size_t(r) * bytes),
        bytes);
  };
  return exchange(comm, stream, part, bytes,
                  [=](const auto& all) { fold(all, type, operation, to, count); });
}
ncclResult_t ncclAllGather(const void* from, void* to, std::size_t count, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t stream) {
  const std::size_t bytes = count * bytes_of(type);
  return exchange(
      comm, stream, [=](int) { return std::pair(from, bytes); }, bytes,
      [=](const auto& all) {
        for (std::size_t r = 0; r < all.size(); ++r)
          std::memcpy(static_cast<std::byte*>(to) + r * bytes, all[r], bytes);
      });
}
ncclResult_t ncclBroadcast(const void* from, void* to, std::size_t count, ncclDataType_t type,
                           int root, ncclComm_t comm, cudaStream_t stream) {
  const std::size_t bytes = count * bytes_of(type);
  const auto begin = [=](Operation& o) {
    post_receive(o.receives, bytes, o.state->world[std::size_t(root)], o.tag);
    for (int r = 0; o.state->rank == root && r < o.state->size; ++r)
      post_send(o.sends, from, bytes, o.state->world[std::size_t(r)], o.tag);
  };
  return add(comm, stream, begin,
             [=](Operation& o) { std::memcpy(to, o.receives.front().bytes.data(), bytes); });
}
