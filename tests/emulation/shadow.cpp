// Shadow memory: of every word of shared and device memory its last writer and readers, with the
// barriers that their threads had passed. The kernels are compiled with -fsanitize=thread, whose
// calls before each access end here: nothing of the thread sanitizer itself is linked.
#include "machine.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <memory>
#include <sstream>

extern "C" char __data_start, _end;  // of the program's own data, where static shared memory lies

namespace emulation {

std::int64_t accesses_watched = 0;

namespace {

struct Access {
  std::uint32_t launch, who;  ///< who: the thread's number, of which ten bits are its place in its
                              ///< block
  std::int32_t site : 31;
  std::uint32_t atomic : 1;
  std::uint16_t block_epoch, warp_epoch;
};

/// Readers: the last one, the last one of another warp than its, and the last other one of its
/// warp. Whoever comes later and is ordered behind these three is behind all: epochs of a block,
/// and of a warp, only grow.
struct alignas(64) Word {  // one line of the cache, since most of this program's time is waiting
                           // for them
  Access writer, reader, reader_of_other_warp, reader_of_same_warp;
};

constexpr std::size_t kWord = 4;
constexpr std::uint32_t kBlockThreads = 1024;  // at most

struct Region {
  std::uintptr_t begin = 0, end = 0;
  bool shared = false;
  Word* words = nullptr;
  unsigned char* alive = nullptr;  ///< by word; none: all are
};

std::vector<Region>& regions() {
  static std::vector<Region> all;
  return all;
}

std::vector<std::uintptr_t> static_shared_words;  // that the block has written

template <class T>
T* reserve(std::size_t count) {
  void* memory = mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) std::perror("shadow memory"), std::abort();
  madvise(memory, count * sizeof(T), MADV_HUGEPAGE);  // or finding its pages would take long; where
                                                      // there are none, it does
  return static_cast<T*>(memory);
}

Region* region_of(std::uintptr_t place) {
  for (Region& region : regions())
    if (place >= region.begin && place < region.end) return &region;
  return nullptr;
}

const std::uintptr_t kProgram = reinterpret_cast<std::uintptr_t>(&__data_start);

bool same_warp(const Access& a, const Access& b) { return a.who / 32 == b.who / 32; }
bool same_block(const Access& a, const Access& b) {
  return a.who / kBlockThreads == b.who / kBlockThreads;
}

/// Whether something orders `now` behind `before`: the end of a launch, a barrier of the block or
/// of the warp.
bool ordered(const Access& before, const Access& now, bool shared) {
  if (before.launch != now.launch || before.who == now.who) return true;
  if (!same_block(before, now)) return shared;  // each block has shared memory of its own
  if (before.block_epoch < now.block_epoch) return true;
  return same_warp(before, now) && before.warp_epoch < now.warp_epoch;
}

std::string described(const Access& access, bool write) {
  return std::string(access.atomic ? "atomic " : "") + (write ? "write" : "read") + " by thread " +
         std::to_string(access.who % kBlockThreads) + " of block " +
         std::to_string(access.who / kBlockThreads) + " at " +
         source_of(
             reinterpret_cast<const void*>(kProgram + std::uintptr_t(std::int64_t(access.site))));
}

void report_conflict(const Region& region, const Access& before, bool wrote, const Access& now,
                     bool writes) {
  static std::map<std::tuple<const void*, std::int32_t, std::int32_t, bool, bool>, int> told;
  if (told[{running.kernel, std::int32_t(before.site), std::int32_t(now.site), wrote, writes}]++ >
          0 &&
      told.size() > 1000)
    return;
  report(std::string("conflict in ") + (region.shared ? "shared" : "global") +
         " memory that no barrier orders, kernel " + source_of(running.kernel) + ": " +
         described(before, wrote) + ", then " + described(now, writes));
}

void read(const Region& region, Word& word, const Access& now) {
  if (!ordered(word.writer, now, region.shared) && !(word.writer.atomic && now.atomic))
    report_conflict(region, word.writer, true, now, false);
  Access& last = word.reader;
  if (last.launch == now.launch && last.who != now.who)
    (same_warp(last, now) ? word.reader_of_same_warp : word.reader_of_other_warp) = last;
  last = now;
}

void write(const Region& region, Word& word, const Access& now) {
  if (!ordered(word.writer, now, region.shared) && !(word.writer.atomic && now.atomic))
    report_conflict(region, word.writer, true, now, true);
  for (const Access* reader : {&word.reader, &word.reader_of_other_warp, &word.reader_of_same_warp})
    if (!ordered(*reader, now, region.shared)) report_conflict(region, *reader, false, now, true);
  word.writer = now;
}

Region watched(void* begin, std::size_t bytes, bool shared, bool with_life) {
  Region region{reinterpret_cast<std::uintptr_t>(begin),
                reinterpret_cast<std::uintptr_t>(begin) + bytes, shared,
                reserve<Word>(bytes / kWord + 1), nullptr};
  if (with_life) region.alive = reserve<unsigned char>(bytes / kWord + 1);
  return region;
}

void watch_program() {
  regions().push_back(watched(&__data_start, std::size_t(&_end - &__data_start), true, false));
}

}  // namespace

void watch_device(void* begin, std::size_t bytes) {
  if (regions().empty()) watch_program();
  regions().push_back(watched(begin, bytes, false, true));
}
void watch_shared(void* begin, std::size_t bytes) {
  regions().push_back(watched(begin, bytes, true, true));
}

void set_alive(const void* begin, std::size_t bytes, bool alive) {
  Region& region = *region_of(reinterpret_cast<std::uintptr_t>(begin));
  std::memset(region.alive + (reinterpret_cast<std::uintptr_t>(begin) - region.begin) / kWord,
              alive ? 1 : 0, (bytes + kWord - 1) / kWord);
}

bool is_alive(const void* begin, std::size_t bytes) {
  const auto place = reinterpret_cast<std::uintptr_t>(begin);
  const Region* region = region_of(place);
  if (region == nullptr || region->alive == nullptr || place + bytes > region->end) return false;
  for (std::uintptr_t at = place / kWord * kWord; at < place + bytes; at += kWord)
    if (region->alive[(at - region->begin) / kWord] == 0) return false;
  return true;
}

void touch(const void* where, std::size_t bytes, bool writes, bool atomic, const void* site) {
  // What texts of reports are made with is linked once for host and kernels, and may be the copy
  // that calls this.
  static bool busy = false;
  if (busy) return;
  struct Busy {
    Busy() { busy = true; }
    ~Busy() { busy = false; }
  } const until_done;
  const auto place = reinterpret_cast<std::uintptr_t>(where);
  if (bytes == 0 || (place >= running.stack && place < running.stack_end)) return;
  if (place >= running.arguments && place < running.arguments_end && !writes) return;
  if (place - reinterpret_cast<std::uintptr_t>(&built_in) < sizeof built_in) return;
  ++accesses_watched;
  Region* region = region_of(place);
  if (region == nullptr || place + bytes > region->end)
    return report("memory of the host touched by " + source_of(running.kernel) + " at " +
                  source_of(site));
  if (bytes <= 16 && (bytes & (bytes - 1)) == 0 && (place & (bytes - 1)) != 0)
    report("an access of " + std::to_string(bytes) + " bytes that is not aligned at " +
           source_of(site));
  const Access now{running.launch,
                   running.block * kBlockThreads + running.thread,
                   std::int32_t(reinterpret_cast<std::uintptr_t>(site) - kProgram),
                   atomic,
                   running.block_epoch,
                   running.warp_epoch};
  for (std::uintptr_t at = place / kWord * kWord; at < place + bytes; at += kWord) {
    const std::size_t index = (at - region->begin) / kWord;
    if (region->alive != nullptr && region->alive[index] == 0)
      return report(std::string("outside of all ") + (region->shared ? "shared" : "device") +
                    " memory: " + described(now, writes) + ", kernel " + source_of(running.kernel));
    if (region->alive == nullptr && writes) static_shared_words.push_back(at);
    writes ? write(*region, region->words[index], now) : read(*region, region->words[index], now);
  }
}

void forget_static_shared() {
  for (const std::uintptr_t at : static_shared_words)
    std::memset(reinterpret_cast<void*>(at), kGarbage, kWord);
  static_shared_words.clear();
}

namespace {

struct Reports {
  std::vector<std::string> texts;
};
Reports& reports() {
  static Reports all;
  return all;
}

}  // namespace

void report(std::string problem) {
  auto& texts = reports().texts;
  if (texts.size() < 20 && std::find(texts.begin(), texts.end(), problem) == texts.end())
    texts.push_back(std::move(problem));
}

std::vector<std::string> take_reports() { return std::exchange(reports().texts, {}); }

std::string source_of(const void* address) {
  static std::map<const void*, std::string> known;
  const auto [entry, is_new] = known.try_emplace(address);
  if (!is_new) return entry->second;
  extern std::uintptr_t program_base();
  std::ostringstream command;
  command << "addr2line -Cfse /proc/" << getpid() << "/exe 0x" << std::hex
          << reinterpret_cast<std::uintptr_t>(address) - program_base() << " 2>/dev/null";
  std::string text;
  if (FILE* pipe = popen(command.str().c_str(), "r")) {
    for (int c; (c = std::fgetc(pipe)) != EOF;) text.push_back(char(c));
    pclose(pipe);
  }
  for (const std::string unnamed = "(anonymous namespace)::";
       text.find(unnamed) != std::string::npos;)
    text.erase(text.find(unnamed), unnamed.size());
  const auto line = text.find('\n');
  if (line == std::string::npos) return entry->second = command.str();
  const std::string function = text.substr(0, text.find('('));
  return entry->second = function.substr(0, function.find('\n')) + " (" +
                         text.substr(line + 1, text.find('\n', line + 1) - line - 1) + ")";
}

}  // namespace emulation

// What the compiler's instrumentation calls.
extern "C" {
#define ROLLCALL_WATCH(name, bytes, writes)                                         \
  void name(void* place);                                                           \
  void name(void* place) {                                                          \
    if (emulation::running.in_kernel)                                               \
      emulation::touch(place, bytes, writes, false,                                 \
                       __builtin_extract_return_addr(__builtin_return_address(0))); \
  }
ROLLCALL_WATCH(__tsan_read1, 1, false)
ROLLCALL_WATCH(__tsan_read2, 2, false)
ROLLCALL_WATCH(__tsan_read4, 4, false)
ROLLCALL_WATCH(__tsan_read8, 8, false)
ROLLCALL_WATCH(__tsan_read16, 16, false)
ROLLCALL_WATCH(__tsan_write1, 1, true)
ROLLCALL_WATCH(__tsan_write2, 2, true)
ROLLCALL_WATCH(__tsan_write4, 4, true)
ROLLCALL_WATCH(__tsan_write8, 8, true)
ROLLCALL_WATCH(__tsan_write16, 16, true)
ROLLCALL_WATCH(__tsan_unaligned_read2, 2, false)
ROLLCALL_WATCH(__tsan_unaligned_read4, 4, false)
ROLLCALL_WATCH(__tsan_unaligned_read8, 8, false)
ROLLCALL_WATCH(__tsan_unaligned_read16, 16, false)
ROLLCALL_WATCH(__tsan_unaligned_write2, 2, true)
ROLLCALL_WATCH(__tsan_unaligned_write4, 4, true)
ROLLCALL_WATCH(__tsan_unaligned_write8, 8, true)
ROLLCALL_WATCH(__tsan_unaligned_write16, 16, true)
#undef ROLLCALL_WATCH
void __tsan_read_range(void* place, unsigned long bytes);
void __tsan_read_range(void* place, unsigned long bytes) {
  if (emulation::running.in_kernel)
    emulation::touch(place, bytes, false, false, __builtin_return_address(0));
}
void __tsan_write_range(void* place, unsigned long bytes);
void __tsan_write_range(void* place, unsigned long bytes) {
  if (emulation::running.in_kernel)
    emulation::touch(place, bytes, true, false, __builtin_return_address(0));
}
void __tsan_init();
void __tsan_init() {}
void __tsan_vptr_update(void**, void*);
void __tsan_vptr_update(void**, void*) {}
unsigned char __tsan_atomic8_load(const volatile unsigned char* place, int order);
// guards of the host code's own statics
unsigned char __tsan_atomic8_load(const volatile unsigned char* place, int) { return *place; }
unsigned __tsan_atomic32_fetch_add(volatile unsigned* place, unsigned value, int order);
unsigned __tsan_atomic32_fetch_add(volatile unsigned* place, unsigned value, int) {
  return __atomic_fetch_add(place, value, __ATOMIC_SEQ_CST);
}  // its shared pointers
}
