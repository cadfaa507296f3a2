// Collectives over MPI or, if all ranks are on one node, through the memory that they share.
#include "comm/mpi_communicator.hpp"

#include "base/errors/error.hpp"
#include "comm/shares.hpp"

#include <algorithm>
#include <climits>
#include <cstring>
#include <numeric>
#include <utility>

namespace rollcall::comm {
namespace {

/// Long buffers travel in parts. So counts stay far below the 2^31 of MPI's int, and each part
/// starts with a fresh Backoff that polls without sleeping: a long collective consists of many
/// small exchanges inside MPI_Test and would crawl at two polls per millisecond. Among part sizes
/// from 64 KiB to 16 MiB, 4 MiB was the fastest.
constexpr std::size_t kPartBytes = std::size_t{4} << 20;
constexpr std::size_t kHeadBytes = 248;  // bytes of each string in the first exchange of
                                         // gather_all; shorter strings need no second one
constexpr std::size_t kHeadsBytes = std::size_t{256} << 10;  // bytes of all strings in that
                                                             // exchange, at most
// Bytes that one round of a gather moves; they are copied once more afterwards.
constexpr std::size_t kRoundBytes = std::size_t{64} << 20;

template <class T, class Act>
void for_each_part(std::span<T> values, Act act) {
  const std::size_t part = kPartBytes / sizeof(T);
  for (std::size_t first = 0; first < values.size(); first += part) {
    const auto piece = values.subspan(first, std::min(part, values.size() - first));
    act(piece.data(), int(piece.size()));
  }
}

/// One piece of every share: its number of elements, and its position in the buffer.
struct Pieces {
  std::vector<int> counts, places;  ///< [ranks] elements of each piece, and where it begins
  std::size_t end() const { return std::size_t(places.back()) + std::size_t(counts.back()); }
};

/// Moves the bytes of these strings from `first` on, in rounds of about kRoundBytes, because MPI
/// counts bytes in an int and a step may have more. If all of it fits into one round, there is one
/// round. Otherwise every string that has bytes left gets an equal part of a round, so that a
/// single long string among 10^5 short ones gets whole rounds. act(first, pieces) moves the next
/// piece of each string. The pieces are stored end to end.
template <class Act>
void in_rounds(std::span<const std::uint64_t> sizes, std::uint64_t first, Act act) {
  const std::uint64_t longest = *std::max_element(sizes.begin(), sizes.end());
  Pieces pieces{std::vector<int>(sizes.size()), std::vector<int>(sizes.size())};
  while (first < longest) {
    const auto rest = [&](std::uint64_t size) { return size - std::min(size, first); };
    std::uint64_t all = 0, strings = 0;
    for (const std::uint64_t size : sizes) {
      all += rest(size);
      strings += rest(size) > 0 ? 1 : 0;
    }
    const std::uint64_t piece_size =
        all <= kRoundBytes ? longest - first : std::max<std::uint64_t>(kRoundBytes / strings, 1024);
    std::transform(sizes.begin(), sizes.end(), pieces.counts.begin(),
                   [&](std::uint64_t size) { return int(std::min(piece_size, rest(size))); });
    std::exclusive_scan(pieces.counts.begin(), pieces.counts.end(), pieces.places.begin(), 0);
    act(first, pieces);
    first += piece_size;
  }
}

/// Moves shares piece by piece, so that all ranks send and receive all the time. One round moves
/// about kPartBytes.
template <class T, class Act>
void for_each_piece(std::span<const std::int64_t> share_offsets, Act act) {
  const std::size_t ranks = share_offsets.size() - 1;
  const auto step = std::max<std::int64_t>(std::int64_t(kPartBytes / sizeof(T) / ranks), 1);
  const std::int64_t longest = longest_share(share_offsets);
  for (std::int64_t first = 0; first < longest; first += step) {
    Pieces pieces;
    for (std::size_t r = 0; r < ranks; ++r) {
      const std::int64_t length = share_offsets[r + 1] - share_offsets[r],
                         from = std::min(first, length);
      pieces.counts.push_back(int(std::min(step, length - from)));
      pieces.places.push_back(int(share_offsets[r] + from));
    }
    act(pieces);
  }
}

/// Whether collectives on shares are built from collectives on whole buffers: if few of many ranks
/// own shares, a direct exchange would cost an owner more than an all-reduce does, and if the
/// buffer is too long, MPI's int cannot hold the positions.
bool shares_go_whole(std::span<const std::int64_t> share_offsets) {
  const std::int64_t size = share_offsets.back(), others = std::int64_t(share_offsets.size()) - 2;
  return size > INT_MAX ||
         longest_share(share_offsets) > 2 * size / std::max<std::int64_t>(others, 1);
}

// Wraps at an overflow, as MPI_SUM does.
std::int64_t wrapping_sum(std::int64_t a, std::int64_t b) {
  return std::int64_t(std::uint64_t(a) + std::uint64_t(b));
}

/// Exchanges the lengths of all strings into `sizes`, and their first bytes into `strings` unless
/// `strings` is empty. Returns how many bytes of a string were exchanged at most: `head`, or more
/// through shared memory. Strings up to that length need no other exchange.
std::size_t exchange_heads(MpiWaits& waits, const std::string& bytes, std::size_t head,
                           std::vector<std::uint64_t>& sizes, std::vector<std::string>& strings) {
  const std::uint64_t own = bytes.size();
  if (waits.met()) head = NodeRendezvous::kRoom - sizeof own;
  const auto put = [&](std::byte* room) {
    std::memcpy(room, &own, sizeof own);
    std::memcpy(room + sizeof own, bytes.data(), std::min(bytes.size(), head));
  };
  const auto take = [&](std::size_t source, const std::byte* room) {
    std::memcpy(&sizes[source], room, sizeof own);
    if (strings.empty()) return;
    strings[source].reserve(sizes[source]);
    strings[source].assign(reinterpret_cast<const char*>(room) + sizeof own,
                           std::min<std::uint64_t>(sizes[source], head));
  };
  sizes.resize(std::size_t(waits.size()));
  if (waits.met()) {
    const std::uint32_t number =
        waits.bring("a gather", false, [&](std::span<std::byte> room) { put(room.data()); });
    waits.await_all("a gather", number);
    for (int source = 0; source < waits.size(); ++source)
      take(std::size_t(source), waits.met()->room(source, number).data());
    return head;
  }
  const std::size_t each = sizeof own + head;
  std::vector<std::byte> heads(each * std::size_t(waits.size()));
  put(heads.data() + each * std::size_t(waits.rank()));
  waits.complete("MPI_Iallgather", [&](MPI_Request* r) {
    return MPI_Iallgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, heads.data(), int(each), MPI_BYTE,
                          waits.comm(), r);
  });
  for (std::size_t source = 0; source < sizes.size(); ++source)
    take(source, heads.data() + each * source);
  return head;
}

}  // namespace

void MpiCommunicator::sum(std::span<std::int64_t> values) {
  if (waits_.merge_where_met("a sum", values, wrapping_sum)) return;
  for_each_part(values, [&](std::int64_t* part, int count) {
    waits_.complete("MPI_Iallreduce", [&](MPI_Request* r) {
      return MPI_Iallreduce(MPI_IN_PLACE, part, count, MPI_INT64_T, MPI_SUM, comm_, r);
    });
  });
}

void MpiCommunicator::maximum(std::span<double> values) {
  if (waits_.merge_where_met("a maximum", values,
                             [](double a, double b) { return std::max(a, b); }))
    return;
  for_each_part(values, [&](double* part, int count) {
    waits_.complete("MPI_Iallreduce", [&](MPI_Request* r) {
      return MPI_Iallreduce(MPI_IN_PLACE, part, count, MPI_DOUBLE, MPI_MAX, comm_, r);
    });
  });
}

void MpiCommunicator::broadcast(std::span<std::byte> bytes, int root) {
  if (waits_.met() && bytes.size() <= NodeRendezvous::kRoom) {
    const auto number = waits_.bring("a broadcast", rank() == root, [&](std::span<std::byte> room) {
      if (rank() == root) std::copy(bytes.begin(), bytes.end(), room.begin());
    });
    waits_.await_rank("a broadcast", root, number);
    if (rank() != root)
      std::copy_n(waits_.met()->room(root, number).begin(), bytes.size(), bytes.begin());
    return;
  }
  for_each_part(bytes, [&](std::byte* part, int count) {
    waits_.complete(
        "MPI_Ibcast",
        [&](MPI_Request* r) { return MPI_Ibcast(part, count, MPI_BYTE, root, comm_, r); }, root);
  });
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
      check_mpi(MPI_Ibcast(part.data(), int(part.size()), MPI_BYTE, root, *comm,
                           &requests.emplace_back(MPI_REQUEST_NULL)),
                "MPI_Ibcast");
    }
    waits_.complete_all("MPI_Ibcast", requests, [] { return false; });
  }
}

void MpiCommunicator::barrier() {
  if (waits_.met())
    return waits_.await_all("a barrier",
                            waits_.bring("a barrier", false, [](std::span<std::byte>) {}));
  waits_.complete("MPI_Ibarrier", [&](MPI_Request* r) { return MPI_Ibarrier(comm_, r); });
}

// Every rank sends each other rank its piece and adds what it receives, which in total moves half
// as much as an all-reduce. Open MPI's MPI_Ireduce_scatter would reduce everything on one rank
// first.
void MpiCommunicator::sum_to_shares(std::span<std::int64_t> values,
                                    std::span<const std::int64_t> share_offsets) {
  if (shares_go_whole(share_offsets)) return Collectives::sum_to_shares(values, share_offsets);
  for_each_piece<std::int64_t>(share_offsets, [&](Pieces& pieces) {
    const int own = std::exchange(pieces.counts[std::size_t(rank())], 0),
              place = pieces.places[std::size_t(rank())];
    std::vector<int> counts(std::size_t(size()), own), places(std::size_t(size()), 0);
    counts[std::size_t(rank())] = 0;
    std::exclusive_scan(counts.begin(), counts.end(), places.begin(), 0);
    addends_.resize(std::size_t(own) * std::size_t(size() - 1));
    waits_.complete("MPI_Ialltoallv", [&](MPI_Request* r) {
      return MPI_Ialltoallv(values.data(), pieces.counts.data(), pieces.places.data(), MPI_INT64_T,
                            addends_.data(), counts.data(), places.data(), MPI_INT64_T, comm_, r);
    });
    for (std::size_t from = 0; from < addends_.size(); from += std::size_t(own))
      std::transform(addends_.begin() + std::ptrdiff_t(from),
                     addends_.begin() + std::ptrdiff_t(from) + own, values.begin() + place,
                     values.begin() + place, wrapping_sum);
  });
}

void MpiCommunicator::gather_shares(std::span<float> values,
                                    std::span<const std::int64_t> share_offsets) {
  if (shares_go_whole(share_offsets)) return Collectives::gather_shares(values, share_offsets);
  for_each_piece<float>(share_offsets, [&](const Pieces& pieces) {
    waits_.complete("MPI_Iallgatherv", [&](MPI_Request* r) {
      return MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, values.data(),
                             pieces.counts.data(), pieces.places.data(), MPI_FLOAT, comm_, r);
    });
  });
}

std::vector<std::string> MpiCommunicator::gather_all(const std::string& bytes) {
  std::vector<std::string> strings(size());
  std::vector<std::uint64_t> sizes;
  const std::size_t head = exchange_heads(
      waits_, bytes, std::min(kHeadBytes, kHeadsBytes / std::size_t(size())), sizes, strings);
  std::string all;
  in_rounds(sizes, head, [&](std::uint64_t first, const Pieces& pieces) {
    all.resize(pieces.end());
    waits_.complete("MPI_Iallgatherv", [&](MPI_Request* r) {
      return MPI_Iallgatherv(bytes.data() + std::min<std::uint64_t>(bytes.size(), first),
                             pieces.counts[std::size_t(rank())], MPI_BYTE, all.data(),
                             pieces.counts.data(), pieces.places.data(), MPI_BYTE, comm_, r);
    });
    for (std::size_t source = 0; source < strings.size(); ++source)
      strings[source].append(all, std::size_t(pieces.places[source]),
                             std::size_t(pieces.counts[source]));
  });
  return strings;
}

std::vector<std::string> MpiCommunicator::gather(const std::string& bytes, int root) {
  std::vector<std::string> strings(rank() == root ? size() : 0);
  std::vector<std::uint64_t> sizes;
  const std::size_t head = exchange_heads(waits_, bytes, 0, sizes, strings);
  in_rounds(sizes, head, [&](std::uint64_t first, const Pieces& pieces) {
    std::string all(rank() == root ? pieces.end() : 0, '\0');
    const auto post = [&](MPI_Request* r) {
      return MPI_Igatherv(bytes.data() + std::min<std::uint64_t>(bytes.size(), first),
                          pieces.counts[std::size_t(rank())], MPI_BYTE, all.data(),
                          pieces.counts.data(), pieces.places.data(), MPI_BYTE, root, comm_, r);
    };
    waits_.complete("MPI_Igatherv", post, root);
    for (std::size_t source = 0; source < strings.size(); ++source)
      strings[source].append(all, std::size_t(pieces.places[source]),
                             std::size_t(pieces.counts[source]));
  });
  return strings;
}

std::string MpiCommunicator::scatter(const std::vector<std::string>& parts, int root) {
  expect(parts.size() == std::size_t(rank() == root ? size() : 0),
         "scatter: the root has a part for every rank");
  std::vector<std::uint64_t> sizes(size());
  std::transform(parts.begin(), parts.end(), sizes.begin(),
                 [](const std::string& part) { return part.size(); });
  std::string own;
  if (waits_.met()) {
    // the parts follow their sizes if there is room, so that a woken rank finds both
    const std::size_t head = sizes.size() * sizeof(sizes[0]);
    const auto end_of = [&](int ranks) {
      return head +
             std::size_t(std::accumulate(sizes.begin(), sizes.begin() + ranks, std::uint64_t{0}));
    };
    const auto number = waits_.bring("a scatter", rank() == root, [&](std::span<std::byte> room) {
      if (rank() != root) return;
      std::memcpy(room.data(), sizes.data(), head);
      if (end_of(size()) > room.size()) return;
      auto* to = reinterpret_cast<char*>(room.data() + head);
      for (const auto& part : parts) to = std::copy(part.begin(), part.end(), to);
    });
    waits_.await_rank("a scatter", root, number);
    const auto room = waits_.met()->room(root, number);
    std::memcpy(sizes.data(), room.data(), head);
    own.resize(sizes[std::size_t(rank())]);
    if (end_of(size()) <= room.size()) {
      std::memcpy(own.data(), room.data() + end_of(rank()), own.size());
      return own;
    }
  } else {
    broadcast(std::as_writable_bytes(std::span(sizes)), root);
    own.resize(sizes[std::size_t(rank())]);
  }
  in_rounds(sizes, 0, [&](std::uint64_t first, const Pieces& pieces) {
    std::string all;
    for (std::size_t to = 0; to < parts.size(); ++to)
      all.append(parts[to], std::min<std::uint64_t>(sizes[to], first),
                 std::size_t(pieces.counts[to]));
    const auto post = [&](MPI_Request* r) {
      return MPI_Iscatterv(all.data(), pieces.counts.data(), pieces.places.data(), MPI_BYTE,
                           own.data() + std::min<std::uint64_t>(own.size(), first),
                           pieces.counts[std::size_t(rank())], MPI_BYTE, root, comm_, r);
    };
    waits_.complete("MPI_Iscatterv", post, root);
  });
  return own;
}

}  // namespace rollcall::comm
