// (long: every call over one machine) The emulated runtime: device memory that the host may not
// touch, and work that is done as late as its order allows.
#include "machine.hpp"

#include <link.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <map>
#include <set>

namespace emulation {

/// A piece of work and what must be done before it.
struct Work {
  std::function<bool()> run;  ///< false: not ready yet, it will be asked again
  std::vector<std::shared_ptr<Work>> after;
  bool done = false;
};
struct Stream {
  std::shared_ptr<Work> last;
  Graph* captures = nullptr;
  bool apart = false;  ///< from the null stream
};
struct Event {
  std::shared_ptr<Work> recorded;
};
struct Graph {
  std::vector<std::function<void()>> nodes;
  bool broken = false;         ///< by what may not be asked for in a capture
  std::shared_ptr<Work> last;  ///< launch, behind which the next one is done
};

namespace {

// gaps behind allocations: nothing may be touched there
constexpr std::size_t kMemory = std::size_t{64} << 20, kGap = 256;

/// Memory handed out round and round in a window that grows when it is full: what was freed is not
/// soon another's, and the shadow of little memory is little.
struct Memory {
  unsigned char* begin = nullptr;
  std::size_t window = std::size_t{1} << 20, cursor = 0;
  std::map<std::size_t, std::size_t> pieces{};  ///< by offset: bytes

  /// The first gap of so many bytes from `from` on, or the window's end.
  std::size_t gap(std::size_t from, std::size_t bytes) const {
    auto next = pieces.lower_bound(from);
    if (next != pieces.begin() && std::prev(next)->first + std::prev(next)->second > from)
      from = std::prev(next)->first + std::prev(next)->second;
    for (; next != pieces.end() && from + bytes > next->first; ++next)
      from = next->first + next->second;
    return from + bytes <= window ? from : window;
  }
};

void host_touched(int, siginfo_t* fault, void*);

struct Machine {
  Memory device{}, managed{};
  Stream null_stream{};
  std::set<Stream*> streams{};
  std::mt19937_64 random{1};
  std::map<const void*, int> shared_limits{};
  std::set<const void*> loaded{};              ///< kernels that were launched
  std::map<const void*, std::size_t> asked{};  ///< by cudaMalloc
  MemoryTaken taken{};
  GraphCounts graphs{};
  bool captures_refused = false;
  cudaError_t last_error = cudaSuccess;
  int open = 0;

  Machine() {
    for (Memory* memory : {&device, &managed}) {
      void* made = mmap(nullptr, kMemory, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (made == MAP_FAILED) std::perror("emulated device memory"), std::abort();
      memory->begin = static_cast<unsigned char*>(made);
      watch_device(made, kMemory);
    }
    mprotect(device.begin, kMemory, PROT_NONE);
    struct sigaction action {};
    action.sa_sigaction = host_touched;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &action, nullptr);
  }
};

Machine& machine() {
  static auto& only = *new Machine;
  return only;
}

void host_touched(int, siginfo_t* fault, void*) {
  const auto* place = static_cast<unsigned char*>(fault->si_addr);
  const unsigned char* begin = machine().device.begin;
  const char* text = place >= begin && place < begin + kMemory ? "the host touched device memory\n"
                                                               : "segmentation fault\n";
  [[maybe_unused]] const auto written = write(STDERR_FILENO, text, std::strlen(text));
  signal(SIGSEGV, SIG_DFL);  // and again, to end the process
}

/// While it lives device memory may be touched.
struct Opened {
  Opened() {
    if (machine().open++ == 0)
      mprotect(machine().device.begin, machine().device.window, PROT_READ | PROT_WRITE);
  }
  ~Opened() {
    if (--machine().open == 0) mprotect(machine().device.begin, machine().device.window, PROT_NONE);
  }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;
};

cudaError_t failed(cudaError_t error) {
  if (error != cudaSuccess) machine().last_error = error;
  return error;
}

/// Does a piece of work and whatever must come before, in random order, as far as it is ready.
/// Whether it is done.
bool advance(const std::shared_ptr<Work>& work) {
  if (work == nullptr || work->done) return true;
  const Opened opened;
  std::vector<std::shared_ptr<Work>> stack{work};
  while (!stack.empty()) {
    const auto top = stack.back();
    if (top->done) {
      stack.pop_back();
      continue;
    }
    std::erase_if(top->after, [](const auto& before) { return before->done; });
    if (!top->after.empty()) {
      stack.push_back(top->after[machine().random() % top->after.size()]);
      continue;
    }
    if (!top->run()) return false;
    top->done = true;
    stack.pop_back();
  }
  return true;
}

void complete(const std::shared_ptr<Work>& work) {
  while (!advance(work)) usleep(100);
}

void complete_all() {
  std::vector<std::shared_ptr<Work>> lasts{machine().null_stream.last};
  for (const Stream* stream : machine().streams) lasts.push_back(stream->last);
  std::shuffle(lasts.begin(), lasts.end(), machine().random);
  for (const auto& last : lasts) complete(last);
}

/// Behind what the stream has; the null stream waits for all others and all others wait for it.
void append(Stream* stream, std::function<bool()> run, const std::shared_ptr<Work>& also) {
  auto work = std::make_shared<Work>();
  work->run = std::move(run);
  const auto behind = [&](const std::shared_ptr<Work>& before) {
    if (before != nullptr && !before->done) work->after.push_back(before);
  };
  behind(also);
  if (stream == nullptr || !stream->apart) behind(machine().null_stream.last);
  if (stream != nullptr) behind(stream->last);
  for (const Stream* other : machine().streams)
    if (stream == nullptr && !other->apart) behind(other->last);
  (stream == nullptr ? machine().null_stream : *stream).last = work;
}

/// Ends what the stream captures: the call at hand is none that a capture may have.
cudaError_t break_capture(Stream* stream) {
  return stream->captures->broken = true, failed(cudaErrorStreamCaptureUnsupported);
}
bool captures(const Stream* stream) { return stream != nullptr && stream->captures != nullptr; }
/// For calls that no thread may make while it captures, on whatever stream: they may wait for work.
bool breaks_a_capture() {
  bool broken = false;
  for (Stream* stream : machine().streams)
    if (captures(stream)) broken = true, break_capture(stream);
  return broken;
}

cudaError_t push(Stream* stream, std::function<void()> run,
                 const std::shared_ptr<Work>& also = nullptr) {
  if (captures(stream)) {
    if (also != nullptr) return break_capture(stream);
    stream->captures->nodes.push_back(std::move(run));
    return cudaSuccess;
  }
  return append(
             stream, [run = std::move(run)] { return run(), true; }, also),
         cudaSuccess;
}

cudaError_t take(Memory& memory, void** out, std::size_t bytes) {
  const std::size_t padded = (bytes + kGap - 1) / kGap * kGap + kGap;
  std::size_t place = memory.gap(memory.cursor, padded);
  while (place == memory.window) {
    place = memory.gap(0, padded);
    if (place != memory.window) break;
    if (memory.window == kMemory) return failed(cudaErrorMemoryAllocation);
    memory.window *= 2;
    place = memory.window;
  }
  memory.pieces[place] = padded;
  memory.cursor = place + padded;
  *out = memory.begin + place;
  const Opened opened;
  std::memset(*out, kGarbage, bytes);
  set_alive(*out, bytes, true);
  return cudaSuccess;
}

cudaError_t give(void* memory) {
  for (Memory* of : {&machine().device, &machine().managed})
    if (const auto piece =
            of->pieces.find(std::size_t(static_cast<unsigned char*>(memory) - of->begin));
        memory >= of->begin && piece != of->pieces.end()) {
      set_alive(memory, piece->second, false);
      of->pieces.erase(piece);
      return cudaSuccess;
    }
  report("memory given back that was not taken, or twice");
  return failed(cudaErrorInvalidValue);
}

bool on_device(const void* place) {
  for (const Memory* of : {&machine().device, &machine().managed})
    if (place >= of->begin && place < of->begin + kMemory) return true;
  return false;
}

void copy(void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  if (on_device(to) && !is_alive(to, bytes))
    return report("a copy to outside of all device memory");
  if (on_device(from) && !is_alive(from, bytes))
    return report("a copy from outside of all device memory");
  std::memmove(to, from, bytes);
}

}  // namespace

std::uintptr_t program_base();
std::uintptr_t program_base() {
  static const std::uintptr_t base = [] {
    std::uintptr_t found = 0;
    dl_iterate_phdr(
        [](dl_phdr_info* program, std::size_t, void* out) {
          return *static_cast<std::uintptr_t*>(out) = program->dlpi_addr, 1;
        },
        &found);
    return found;
  }();
  return base;
}

namespace {
std::string device_name = "0000:01:00.0";
}
void name_device(const std::string& bus_id) { device_name = bus_id; }
MemoryTaken memory_taken() { return machine().taken; }
void begin_memory() { machine().taken.most = machine().taken.now; }
GraphCounts graph_counts() { return machine().graphs; }
void refuse_captures(bool refused) { machine().captures_refused = refused; }
void seed(std::uint64_t value) { machine().random.seed(value); }
std::mt19937_64& random_engine() { return machine().random; }
void push_work(cudaStream_t stream, std::function<bool()> advance) {
  append(stream, std::move(advance), nullptr);
}
void limit_shared(const void* kernel, int bytes) { machine().shared_limits[kernel] = bytes; }

cudaError_t enqueue(Launch launch) {
  constexpr int kUnasked = 48 << 10, kMost = 227 << 10;  // of dynamic shared memory: without
                                                         // cudaFuncSetAttribute, and on sm_90
  const auto& c = launch.config;
  const auto limit = machine().shared_limits.find(launch.kernel);
  const std::size_t most = limit == machine().shared_limits.end() ? kUnasked
                                                                  : std::min(limit->second, kMost),
                    size = c.blockDim.x * c.blockDim.y * c.blockDim.z;
  if (size == 0 || size > 1024 || c.gridDim.x == 0 || c.gridDim.y == 0 || c.gridDim.z == 0 ||
      c.gridDim.y > 65535 || c.gridDim.z > 65535 || c.dynamicSmemBytes > most)
    return failed(cudaErrorInvalidValue);
  if (size % 32 != 0)
    report("a block of " + std::to_string(size) +
           " threads (the emulation knows whole warps only)");
  if (!captures(c.stream)) machine().loaded.insert(launch.kernel);
  else if (!machine().loaded.contains(launch.kernel))
    return break_capture(c.stream);  // a kernel is loaded by its first launch, which takes memory
  return push(c.stream, [launch = std::move(launch)] { run_kernel(launch); });
}

}  // namespace emulation

using namespace emulation;

const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaSuccess: return "no error";
    case cudaErrorInvalidValue: return "invalid argument";
    case cudaErrorMemoryAllocation: return "out of memory";
    case cudaErrorNotReady: return "device not ready";
    case cudaErrorStreamCaptureUnsupported:
      return "operation not permitted when stream is capturing";
    case cudaErrorStreamCaptureInvalidated:
      return "operation failed due to a previous error during capture";
  }
  return "unknown error";
}
cudaError_t cudaGetLastError() { return std::exchange(machine().last_error, cudaSuccess); }
cudaError_t cudaGetDeviceCount(int* count) { return *count = 1, cudaSuccess; }
cudaError_t cudaSetDevice(int device) {
  return device == 0 ? cudaSuccess : failed(cudaErrorInvalidValue);
}
cudaError_t cudaDeviceGetPCIBusId(char* id, int bytes, int) {
  return std::snprintf(id, std::size_t(bytes), "%s", device_name.c_str()), cudaSuccess;
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* place) {
  const auto inside = [&](const Memory& memory) {
    return place >= memory.begin && place < memory.begin + kMemory;
  };
  attributes->type = inside(machine().device)    ? cudaMemoryTypeDevice
                     : inside(machine().managed) ? cudaMemoryTypeManaged
                                                 : cudaMemoryTypeUnregistered;
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) { return *device = 0, cudaSuccess; }
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  return std::strcpy(properties->name, "emulated device"), cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  // few, so that all tiles of a product come
  *value = attribute == cudaDevAttrMultiProcessorCount ? 2 : 227 << 10;
  return cudaSuccess;
}
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* all) {
  *all = *free = kMemory;
  for (const auto& [place, bytes] : machine().device.pieces) *free -= bytes;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int) {
  return *pool = nullptr, cudaSuccess;
}
// emulated memory costs nothing to take
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void*) { return cudaSuccess; }

cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  if (breaks_a_capture()) return cudaErrorStreamCaptureUnsupported;
  const cudaError_t error = take(machine().device, memory, bytes);
  if (error != cudaSuccess) return error;
  machine().asked[*memory] = bytes, machine().taken.now += bytes;
  machine().taken.most = std::max(machine().taken.most, machine().taken.now);
  return error;
}
cudaError_t cudaMallocAsync(void** memory, std::size_t bytes, cudaStream_t stream) {
  if (captures(stream))
    return break_capture(stream);  // a device would give the graph memory of
                                   // its own
  return take(machine().device, memory, bytes);
}
cudaError_t cudaMallocManaged(void** memory, std::size_t bytes) {
  return take(machine().managed, memory, bytes);
}
cudaError_t cudaMallocHost(void** memory, std::size_t bytes) {
  if (breaks_a_capture()) return cudaErrorStreamCaptureUnsupported;
  *memory = std::malloc(bytes);
  return std::memset(*memory, kGarbage, bytes), cudaSuccess;
}
cudaError_t cudaFree(void* memory) {
  if (memory == nullptr) return cudaSuccess;
  if (breaks_a_capture()) return cudaErrorStreamCaptureUnsupported;
  complete_all();
  if (const auto asked = machine().asked.find(memory); asked != machine().asked.end())
    machine().taken.now -= asked->second, machine().asked.erase(asked);
  return give(memory);
}
cudaError_t cudaFreeAsync(void* memory, cudaStream_t stream) {
  return push(stream, [memory] { give(memory); });
}
cudaError_t cudaFreeHost(void* memory) {
  if (breaks_a_capture()) return cudaErrorStreamCaptureUnsupported;
  complete_all();  // some of it may be read or written by copies
  return std::free(memory), cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind,
                            cudaStream_t stream) {
  return push(stream, [=] { copy(to, from, bytes); });
}
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  if (breaks_a_capture()) return cudaErrorStreamCaptureUnsupported;
  const cudaError_t error = cudaMemcpyAsync(to, from, bytes, kind, nullptr);
  complete(machine().null_stream.last);
  return error;
}
cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream) {
  return push(stream, [=] {
    if (bytes > 0 && !is_alive(to, bytes)) return report("a fill outside of all device memory");
    std::memset(to, value, bytes);
  });
}
cudaError_t cudaMemset(void* to, int value, std::size_t bytes) {
  return cudaMemsetAsync(to, value, bytes, nullptr);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  machine().streams.insert(*stream = new Stream);
  (*stream)->apart = flags == cudaStreamNonBlocking;
  return cudaSuccess;
}
cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return machine().streams.insert(*stream = new Stream), cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  complete(stream->last);  // the device would go on with it; nobody can ask for it any more
  machine().streams.erase(stream);
  delete stream;
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  if (captures(stream)) return break_capture(stream);
  return complete(stream == nullptr ? machine().null_stream.last : stream->last), cudaSuccess;
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  if (captures(stream)) return break_capture(stream);
  const auto& last = stream == nullptr ? machine().null_stream.last : stream->last;
  if (last == nullptr || last->done) return cudaSuccess;
  advance(last);  // by the next time, if it is ready
  return cudaErrorNotReady;
}
cudaError_t cudaDeviceSynchronize() {
  if (breaks_a_capture()) return cudaErrorStreamCaptureUnsupported;
  return complete_all(), cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t* event) { return *event = new Event, cudaSuccess; }
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  return cudaEventCreate(event);
}
cudaError_t cudaEventDestroy(cudaEvent_t event) { return delete event, cudaSuccess; }
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  const cudaError_t error = push(stream, [] {});
  event->recorded = stream == nullptr ? machine().null_stream.last : stream->last;
  return error;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return complete(event->recorded), cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  if (event->recorded == nullptr || event->recorded->done) return cudaSuccess;
  complete(event->recorded);
  return cudaErrorNotReady;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  return push(
      stream, [] {}, event->recorded);
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  if (stream == nullptr || stream->captures != nullptr || machine().captures_refused)
    return failed(cudaErrorStreamCaptureUnsupported);
  return stream->captures = new Graph, cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  *graph = std::exchange(stream->captures, nullptr);
  if (*graph == nullptr) return failed(cudaErrorInvalidValue);
  if (!(*graph)->broken) return cudaSuccess;
  delete std::exchange(*graph, nullptr);
  return failed(cudaErrorStreamCaptureInvalidated);
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph,
                                 unsigned long long) {
  ++machine().graphs.kept;
  return *executable = new Graph(*graph), cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  const auto run = [nodes = executable->nodes] {
    for (const auto& node : nodes) node();
  };
  if (const cudaError_t error = push(stream, run, executable->last); error != cudaSuccess)
    return error;
  executable->last = stream == nullptr ? machine().null_stream.last : stream->last;
  return ++machine().graphs.launched, cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) { return delete graph, cudaSuccess; }
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  --machine().graphs.kept;
  return delete executable, cudaSuccess;  // launches go on
}
