// What tests ask of the emulated device: the order of its threads, its reports, barriers left out.
#pragma once

#include "cuda_runtime.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace emulation {

/// Orders of threads, blocks and independent streams follow from it.
void seed(std::uint64_t value);

/// What was wrong since the last call: conflicts that no barrier orders, accesses outside of
/// memory, barriers that not all threads reach. One line each.
std::vector<std::string> take_reports();

/// Barriers (and waits for copies) that threads have met so far, sorted.
std::vector<Site> barriers_met();
/// From now on threads pass this one without waiting; {} ends it.
void leave_out(Site barrier);

/// Queues work of a library on a stream: asked again and again, with device memory open to the
/// host, until it says that it is done.
void push_work(cudaStream_t stream, std::function<bool()> advance);
/// PCI bus id of the only device.
void name_device(const std::string& bus_id);

/// Bytes of device memory asked for and not given back, now and at most since begin_memory().
/// Without stream-ordered memory, which here is given back late.
struct MemoryTaken {
  std::size_t now, most;
};
MemoryTaken memory_taken();
void begin_memory();

/// Threads switched to, launches run, accesses watched: what a test cost.
struct Counts {
  std::int64_t launches, switches, accesses;
};
Counts counts();

/// Graphs that can be launched, and how often some were. With `refused`, captures fail from now on,
/// as they do where a driver makes no graphs.
struct GraphCounts {
  std::int64_t kept, launched;
};
GraphCounts graph_counts();
void refuse_captures(bool refused);

}  // namespace emulation
