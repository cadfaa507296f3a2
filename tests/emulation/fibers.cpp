// Runs a kernel: blocks one after the other in random order, the threads of a block as fibers of
// which a random one goes on until it waits.
#include "machine.hpp"

#include <boost/context/fiber.hpp>
#include <boost/context/protected_fixedsize_stack.hpp>

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>

namespace emulation {

BuiltIn built_in{};
Running running;

namespace {

using boost::context::fiber;
// the most of a block on Hopper
constexpr std::size_t kStackBytes = 64 << 10, kSharedBytes = 227 << 10;
constexpr unsigned kWarp = 32;

enum class State { runnable, at_block_barrier, at_warp, done };

/// A copy to shared memory under way.
struct Copy {
  unsigned char* to;
  const unsigned char* from;
  int bytes, filled;
  const void* site;
};

struct Thread {
  fiber body, scheduler;
  std::uintptr_t stack = 0;
  State state = State::done;
  Site waits{};
  std::vector<Copy> copies;         ///< under way, oldest first
  std::vector<std::size_t> groups;  ///< of copies that were committed: their ends among them
};

struct Warp {
  unsigned waiting = 0;
  std::uint16_t epoch = 0;
  Site site{};
  Lanes given;
};

struct Block {
  const Launch* launch = nullptr;
  unsigned size = 0, waiting = 0;
  std::uint16_t epoch = 0;
  std::vector<unsigned> runnable;
  std::vector<Warp> warps;
  Site site{};
  std::size_t shared_bytes = 0;  ///< of dynamic shared memory that may be touched
};

Block block;
unsigned current;
auto& threads = *new std::vector<Thread*>;  // never given back: the next block uses them again, and
                                            // at the end fibers are not unwound
std::set<Site> met;
Site left_out{};
Counts counted{};

unsigned char* shared_memory() {
  static unsigned char* const memory = [] {
    auto* m =
        static_cast<unsigned char*>(std::aligned_alloc(4096, (kSharedBytes + 4095) / 4096 * 4096));
    watch_shared(m, kSharedBytes);
    return m;
  }();
  return memory;
}

/// Protected stacks, of which the thread notes where its own is. They are never given back. Each
/// begins elsewhere in its page, or all would share lines of the cache.
struct NotingStacks {
  Thread* thread;
  boost::context::protected_fixedsize_stack stacks{kStackBytes};
  boost::context::stack_context allocate() {
    auto made = stacks.allocate();
    const std::size_t shift = threads.size() % 32 * 128;
    made.sp = static_cast<char*>(made.sp) - shift, made.size -= shift;
    thread->stack = reinterpret_cast<std::uintptr_t>(made.sp);
    return made;
  }
  void deallocate(boost::context::stack_context&) {}
};

Thread* new_thread() {
  auto* thread = new Thread;
  thread->body = fiber(std::allocator_arg, NotingStacks{thread}, [thread](fiber&& scheduler) {
    thread->scheduler = std::move(scheduler);
    for (;;) {
      block.launch->thread(block.launch->arguments.get());
      thread->state = State::done;
      thread->scheduler = std::move(thread->scheduler).resume();
    }
    return std::move(thread->scheduler);
  });
  return thread;
}

Thread& self() { return *threads[current]; }

void pause() {
  Thread& thread = self();
  thread.scheduler = std::move(thread.scheduler).resume();
}

void resume(unsigned index) {
  current = index;
  ++counted.switches;
  const dim3& size = block.launch->config.blockDim;
  built_in.thread_idx = {index % size.x, index / size.x % size.y, index / size.x / size.y};
  running.thread = std::uint16_t(index);
  running.block_epoch = block.epoch;
  running.warp_epoch = block.warps[index / kWarp].epoch;
  Thread& thread = *threads[index];
  running.stack_end = thread.stack, running.stack = thread.stack - kStackBytes;
  thread.body = std::move(thread.body).resume();
}

void release(State from, unsigned begin, unsigned end) {
  for (unsigned i = begin; i < end; ++i)
    if (threads[i]->state == from) threads[i]->state = State::runnable, block.runnable.push_back(i);
}

void release_block() {
  block.waiting = 0, ++block.epoch;
  release(State::at_block_barrier, 0, block.size);
}

void release_warp(unsigned warp, bool orders_memory) {
  block.warps[warp].waiting = 0;
  if (orders_memory) ++block.warps[warp].epoch;
  release(State::at_warp, warp * kWarp, (warp + 1) * kWarp);
}

bool skipped(Site site) {
  static Site last{};
  if (site != last) met.insert(last = site);
  return site == left_out;
}

void wait_for_warp(unsigned mask, Site site, bool orders_memory) {
  if (mask != ~0U)
    report("a warp operation with a mask that is not full at " + file_and_line(site) +
           " (the emulation knows full warps only)");
  Warp& warp = block.warps[current / kWarp];
  if (warp.waiting > 0 && warp.site != site)
    report("lanes of a warp wait at different places: " + file_and_line(warp.site) + " and " +
           file_and_line(site) + " in " + source_of(running.kernel));
  warp.site = site;
  self().state = State::at_warp, self().waits = site;
  if (++warp.waiting == kWarp) {
    built_in.handed[current / kWarp] = warp.given;
    release_warp(current / kWarp, orders_memory);
  }
  pause();
}

/// The threads that wait for others which are done or wait elsewhere.
void report_stuck() {
  unsigned waiting = 0;
  Site site{};
  for (unsigned i = 0; i < block.size; ++i)
    if (threads[i]->state != State::done) ++waiting, site = threads[i]->waits;
  report("a barrier at " + file_and_line(site) + " that " + std::to_string(waiting) + " of " +
         std::to_string(block.size) + " threads wait at and the others never reach, in " +
         source_of(running.kernel));
}

void run_block(std::uint32_t index) {
  const dim3& grid = block.launch->config.gridDim;
  built_in.block_idx = {index % grid.x, index / grid.x % grid.y, index / grid.x / grid.y};
  running.block = index;
  block.waiting = 0, block.epoch = 0;
  block.warps.resize(block.size / kWarp);
  for (Warp& warp : block.warps) warp.waiting = 0, warp.epoch = 0;
  block.runnable.clear();
  std::memset(shared_memory(), kGarbage, block.launch->config.dynamicSmemBytes);
  if (const std::size_t bytes = block.launch->config.dynamicSmemBytes;
      bytes != block.shared_bytes) {
    set_alive(shared_memory(), kSharedBytes, false);
    set_alive(shared_memory(), block.shared_bytes = bytes, true);
  }
  for (unsigned i = 0; i < block.size; ++i)
    threads[i]->state = State::runnable, threads[i]->copies.clear(), threads[i]->groups.clear(),
    block.runnable.push_back(i);
  for (unsigned done = 0; done < block.size;) {
    if (block.runnable.empty()) {
      report_stuck();
      for (unsigned w = 0; w < block.warps.size(); ++w) release_warp(w, true);
      release_block();
      continue;
    }
    const std::size_t chosen = (random_engine()() >> 32) * block.runnable.size() >> 32;
    std::swap(block.runnable[chosen], block.runnable.back());
    const unsigned thread = block.runnable.back();
    block.runnable.pop_back();
    resume(thread);
    if (threads[thread]->state == State::done) ++done;
  }
  forget_static_shared();
}

void land(const Copy& copy) {
  touch(copy.from, std::size_t(copy.filled), false, false, copy.site);
  touch(copy.to, std::size_t(copy.bytes), true, false, copy.site);
  std::memcpy(copy.to, copy.from, std::size_t(copy.filled));
  std::memset(copy.to + copy.filled, 0, std::size_t(copy.bytes - copy.filled));
}

}  // namespace

void sync_threads(Site site) {
  if (skipped(site)) return;
  if (block.waiting > 0 && block.site != site)
    report("threads of a block wait at different barriers: " + file_and_line(block.site) + " and " +
           file_and_line(site) + " in " + source_of(running.kernel));
  block.site = site;
  self().state = State::at_block_barrier, self().waits = site;
  if (++block.waiting == block.size) release_block();
  pause();
}

void sync_warp(unsigned mask, Site site) {
  if (!skipped(site)) wait_for_warp(mask, site, true);
}

const Lanes& exchange(unsigned mask, const void* value, std::size_t bytes, Site site) {
  Warp& warp = block.warps[current / kWarp];
  std::memcpy(warp.given.of[current % kWarp], value, bytes);
  wait_for_warp(mask, site, false);  // a shuffle hands over values, it orders no memory
  return built_in.handed[current / kWarp];
}

void note_atomic(void* place, std::size_t bytes, void* site) {
  if (running.in_kernel) touch(place, bytes, true, true, site);
}

void* dynamic_shared() { return shared_memory(); }

void cp_async(void* to, const void* from, int bytes, int filled, const void* site) {
  if (reinterpret_cast<std::uintptr_t>(to) % unsigned(bytes) != 0 ||
      reinterpret_cast<std::uintptr_t>(from) % unsigned(bytes) != 0)
    report("an asynchronous copy of " + std::to_string(bytes) + " bytes that is not aligned at " +
           source_of(site));
  touch(to, std::size_t(bytes), true, false, site);
  if (!is_alive(to, std::size_t(bytes)) || (filled > 0 && !is_alive(from, std::size_t(filled))))
    return (void)touch(from, std::size_t(filled), false, false, site);
  std::memset(to, kGarbage, std::size_t(bytes));  // until it lands
  self().copies.push_back({static_cast<unsigned char*>(to), static_cast<const unsigned char*>(from),
                           bytes, filled, site});
}

void cp_async_commit() { self().groups.push_back(self().copies.size()); }

void cp_async_wait(int pending, Site site) {
  if (skipped(site)) return;
  auto& copies = self().copies;
  auto& groups = self().groups;
  if (int(groups.size()) <= pending) return;
  const auto done = std::ptrdiff_t(groups.size()) - pending,
             landed = std::ptrdiff_t(groups[std::size_t(done - 1)]);
  for (std::ptrdiff_t i = 0; i < landed; ++i) land(copies[std::size_t(i)]);
  copies.erase(copies.begin(), copies.begin() + landed),
      groups.erase(groups.begin(), groups.begin() + done);
  for (std::size_t& end : groups) end -= std::size_t(landed);
}

void run_kernel(const Launch& launch) {
  ++counted.launches;
  block.launch = &launch;
  block.size = launch.config.blockDim.x * launch.config.blockDim.y * launch.config.blockDim.z;
  while (threads.size() < block.size) threads.push_back(new_thread());
  built_in.block_dim = launch.config.blockDim, built_in.grid_dim = launch.config.gridDim;
  running.in_kernel = true, running.kernel = launch.kernel;
  ++running.launch;
  running.arguments = reinterpret_cast<std::uintptr_t>(launch.arguments.get()),
  running.arguments_end = running.arguments + launch.bytes;
  std::vector<std::uint32_t> order(std::size_t(launch.config.gridDim.x) * launch.config.gridDim.y *
                                   launch.config.gridDim.z);
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::shuffle(order.begin(), order.end(), random_engine());
  for (const std::uint32_t i : order) run_block(i);
  running.in_kernel = false;
}

std::string file_and_line(Site site) {
  return site.file == nullptr ? "nowhere"
                              : std::filesystem::path(site.file).filename().string() + ":" +
                                    std::to_string(site.line);
}

std::vector<Site> barriers_met() { return {met.begin(), met.end()}; }
void leave_out(Site barrier) { left_out = barrier; }
Counts counts() {
  Counts now = counted;
  extern std::int64_t accesses_watched;
  now.accesses = accesses_watched;
  return now;
}

}  // namespace emulation
