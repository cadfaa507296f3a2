// Controls of the library that stands between a program and the C library's file calls: it makes a
// chosen one fail, or writes down what they did.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace rollcall::faults {

/// look: stat and its kin
enum class Call { open, read, write, sync, close, rename, link, truncate, mkdir, unlink, look };
constexpr const char* kCallNames[] = {"open", "read",      "write", "fsync",  "close", "rename",
                                      "link", "ftruncate", "mkdir", "unlink", "stat"};

/// What the chosen call does instead of its work.
enum class Fault { eio, enospc, eintr, partial, unsupported };
constexpr const char* kFaultNames[] = {"EIO", "ENOSPC", "EINTR", "half",
                                       "unsupported"};  ///< unsupported: EINVAL or EPERM

/// One thing that happened to the watched folder, as the disk would see it. Paths are relative to
/// it.
struct Operation {
  enum class Kind {
    create,
    write,
    truncate,
    sync,
    sync_folder,
    rename,
    exchange,
    link,
    unlink,
    mkdir,
    rmdir,
    mark
  };
  Kind kind = Kind::mark;
  std::string path, target;  ///< target: of renames and links; the text of a mark
  std::uint64_t file = 0;    ///< number of the file that path named (create, write, truncate, sync)
  std::uint64_t offset = 0;  ///< of a write; the length of a truncation
  std::string bytes;         ///< of a write
};

bool applies(Call call, Fault fault);

/// Counts the calls on files below `root` from here on; empty: none.
void watch(const std::string& root);
/// The n-th watched call from here on (0: the next) fails; with `from_then_on`, so do all later
/// ones that can fail this way.
void fail(std::uint64_t nth, Fault fault, bool from_then_on);
/// The same, but the n-th call of one place in the program: another thread's calls do not shift the
/// count.
void fail_at(std::uint64_t site, std::uint64_t nth, Fault fault, bool from_then_on);
bool struck();                     ///< whether it has come to that
void when_struck(void (*call)());  ///< at once: the process may not reach its end
std::vector<Call> calls();         ///< since watch(): what each was

struct Site {
  Call call = Call::open;
  std::uint64_t calls = 0;
};
void note_sites();  ///< from here on; takes some microseconds a call
/// Places in the program that the calls came from, by their return addresses; a number is the same
/// in every process of the same build.
std::map<std::uint64_t, Site> sites();

void record();                       ///< from here on
void mark(const std::string& text);  ///< a note of the program in the record: what it has promised
std::vector<Operation> recorded();
void forget_syncs();  ///< for a test of the tests: fsync says yes and does nothing

}  // namespace rollcall::faults
