// What a disk may hold after a power cut, given a record of file operations: the model behind the
// enumeration.
#pragma once

#include "base/numbers/random.hpp"
#include "faults/interpose.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace rollcall::faults {

/// Folders and files of a run folder: path -> content; a folder has none. Files with two names
/// appear twice.
struct DiskState {
  std::map<std::string, std::string> files;
  std::vector<std::string> folders;  ///< parents first
  void put(const std::filesystem::path& root) const;
  std::uint64_t hash() const;
};

/// POSIX promises no more than this: the content of a file is durable as of its last fsync, the
/// names in a folder as of the folder's; everything later may be there or not. Writes after the
/// fsync are kept or lost block by block (512 B or 4 KiB), in any order; a lost block below the end
/// of the file reads as zeros or as what was there before; the end of the file itself may be lost.
/// Changes of names are kept in order within a folder and in any order between folders; a rename
/// between folders happens as a whole or not at all.
class Disk {
 public:
  explicit Disk(std::vector<Operation> record) : record_(std::move(record)) {}
  std::size_t operations() const { return record_.size(); }
  /// One state after a cut behind the first `count` operations. `dice` decides; draw 0 loses all
  /// that may be lost, draw 1 keeps all.
  DiskState cut(std::size_t count, std::uint64_t draw, const RandomStream& dice) const;
  /// The last mark before that place that begins with `word`: its number, 0 when there is none.
  int promised(std::size_t count, const std::string& word) const;

 private:
  std::vector<Operation> record_;
};

}  // namespace rollcall::faults
