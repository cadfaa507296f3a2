// Replays a record twice: all of it for what the program saw, and what survives for what the disk
// holds.
#include "faults/crash_states.hpp"

#include "base/numbers/hash.hpp"

#include <algorithm>
#include <fstream>
#include <memory>
#include <set>

namespace rollcall::faults {
namespace fs = std::filesystem;
namespace {

using Kind = Operation::Kind;

std::string parent(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}
std::string leaf(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

/// A file or folder by number; what names it is in its parent.
struct Node {
  bool folder = false;
  std::string durable;                    ///< content as of the last fsync
  std::vector<const Operation*> pending;  ///< writes and truncations since
  std::map<std::string, int> names;       ///< of a folder, as the program sees it
};

/// One change of names, with the nodes it was about when it happened.
struct NameChange {
  struct Entry {
    int folder = 0;
    std::string name;
    int node = -1;  ///< -1: the name goes
  };
  std::vector<Entry> entries;
  bool durable = false;
};

class Replay {
 public:
  Replay() { nodes_.push_back({true, {}, {}, {}}); }
  void apply(const Operation& operation);
  DiskState survivors(std::uint64_t draw, const RandomStream& dice);

 private:
  int find(const std::string& path) const;
  int add(const std::string& path, bool folder);
  void change(NameChange change);
  void unname(const std::string& path) { change({{{find(parent(path)), leaf(path), -1}}, false}); }
  void exchange_names(const Operation& o);
  void move(const Operation& o);
  void sync_folder(int folder);
  std::vector<bool> kept_changes(std::uint64_t draw, const RandomStream& dice,
                                 std::uint64_t& at) const;
  std::string content(const Node& node, std::uint64_t draw, const RandomStream& dice,
                      std::uint64_t& at) const;
  void collect(const std::map<int, std::map<std::string, int>>& names, int folder,
               const std::string& path, const std::map<int, std::string>& contents,
               DiskState& state) const;

  std::vector<Node> nodes_;  // 0: the run folder
  std::map<std::uint64_t, int> by_file_;
  std::vector<NameChange> changes_;
};

int Replay::find(const std::string& path) const {
  int node = 0;
  if (path == ".") return node;
  for (std::size_t begin = 0; begin <= path.size();) {
    const auto end = std::min(path.find('/', begin), path.size());
    const auto& names = nodes_[std::size_t(node)].names;
    const auto found = names.find(path.substr(begin, end - begin));
    if (found == names.end()) return -1;
    node = found->second;
    begin = end + 1;
  }
  return node;
}

void Replay::change(NameChange change) {
  for (const auto& [folder, name, node] : change.entries) {
    auto& names = nodes_[std::size_t(folder)].names;
    if (node < 0) names.erase(name);
    else names[name] = node;
  }
  changes_.push_back(std::move(change));
}

int Replay::add(const std::string& path, bool folder) {
  nodes_.push_back({folder, {}, {}, {}});
  const int node = int(nodes_.size()) - 1;
  change({{{find(parent(path)), leaf(path), node}}, false});
  return node;
}

void Replay::exchange_names(const Operation& o) {
  const int a = find(o.path), b = find(o.target);
  change({{{find(parent(o.path)), leaf(o.path), b}, {find(parent(o.target)), leaf(o.target), a}},
          false});
}

void Replay::move(const Operation& o) {
  const int node = find(o.path);
  change(
      {{{find(parent(o.path)), leaf(o.path), -1}, {find(parent(o.target)), leaf(o.target), node}},
       false});
}

void Replay::sync_folder(int folder) {
  for (NameChange& change : changes_) {
    change.durable =
        change.durable || std::any_of(change.entries.begin(), change.entries.end(),
                                      [&](const auto& entry) { return entry.folder == folder; });
  }
}

void Replay::apply(const Operation& o) {
  switch (o.kind) {
    case Kind::create: by_file_[o.file] = add(o.path, false); return;
    case Kind::mkdir: add(o.path, true); return;
    case Kind::write:
    case Kind::truncate: nodes_[std::size_t(by_file_.at(o.file))].pending.push_back(&o); return;
    case Kind::sync: {
      Node& node = nodes_[std::size_t(by_file_.at(o.file))];
      std::uint64_t none = 0;
      node.durable = content(node, 1, RandomStream(0, RandomPurpose::test), none);
      node.pending.clear();
      return;
    }
    case Kind::sync_folder: sync_folder(find(o.path)); return;
    case Kind::rename: move(o); return;
    case Kind::exchange: exchange_names(o); return;
    case Kind::link:
      change({{{find(parent(o.target)), leaf(o.target), find(o.path)}}, false});
      return;
    case Kind::unlink:
    case Kind::rmdir: unname(o.path); return;
    case Kind::mark: return;
  }
}

/// Within a folder the changes that are not durable are kept up to some point; one that two folders
/// share counts only if both keep it.
std::vector<bool> Replay::kept_changes(std::uint64_t draw, const RandomStream& dice,
                                       std::uint64_t& at) const {
  std::vector<bool> kept(changes_.size(), false);
  std::map<int, bool> lost;  // folders whose point is passed
  for (std::size_t i = 0; i < changes_.size(); ++i) {
    bool keep = changes_[i].durable || draw == 1 || (draw != 0 && dice.below(at++, 4) != 0);
    for (const auto& entry : changes_[i].entries)
      keep = keep && (changes_[i].durable || !lost[entry.folder]);
    kept[i] = keep;
    if (!keep) {
      for (const auto& entry : changes_[i].entries) lost[entry.folder] = true;
    }
  }
  return kept;
}

std::string Replay::content(const Node& node, std::uint64_t draw, const RandomStream& dice,
                            std::uint64_t& at) const {
  std::string bytes = node.durable;
  for (const Operation* o : node.pending) {
    if (draw == 0) break;
    const bool all = draw == 1 || dice.below(at++, 3) == 0;
    if (o->kind == Kind::truncate) {
      if (all || dice.below(at++, 2) == 0) bytes.resize(o->offset);
      continue;
    }
    const std::size_t block = all || dice.below(at++, 2) == 0 ? 4096 : 512;
    for (std::size_t begin = 0; begin < o->bytes.size();) {
      // blocks lie at multiples of their size
      const std::size_t end =
          std::min(o->bytes.size(), begin + block - (o->offset + begin) % block);
      if (all || dice.below(at++, 2) == 0) {
        if (bytes.size() < o->offset + end) bytes.resize(o->offset + end, '\0');
        std::copy(o->bytes.begin() + std::ptrdiff_t(begin), o->bytes.begin() + std::ptrdiff_t(end),
                  bytes.begin() + std::ptrdiff_t(o->offset + begin));
      }
      begin = end;
    }
  }
  return bytes;
}

void Replay::collect(const std::map<int, std::map<std::string, int>>& names, int folder,
                     const std::string& path, const std::map<int, std::string>& contents,
                     DiskState& state) const {
  const auto entries = names.find(folder);
  if (entries == names.end()) return;
  for (const auto& [name, node] : entries->second) {
    const std::string full = path.empty() ? name : path + "/" + name;
    if (nodes_[std::size_t(node)].folder) {
      state.folders.push_back(full);
      collect(names, node, full, contents, state);
    } else {
      state.files[full] = contents.at(node);
    }
  }
}

DiskState Replay::survivors(std::uint64_t draw, const RandomStream& dice) {
  std::uint64_t at = 0;
  const auto kept = kept_changes(draw, dice, at);
  std::map<int, std::map<std::string, int>> names;
  for (std::size_t i = 0; i < changes_.size(); ++i) {
    if (!kept[i]) continue;
    for (const auto& [folder, name, node] : changes_[i].entries) {
      if (node < 0) names[folder].erase(name);
      else names[folder][name] = node;
    }
  }
  std::map<int, std::string> contents;
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    if (!nodes_[n].folder) contents[int(n)] = content(nodes_[n], draw, dice, at);
  }
  DiskState state;
  collect(names, 0, "", contents, state);
  return state;
}

}  // namespace

void DiskState::put(const fs::path& root) const {
  fs::create_directories(root);
  for (const std::string& folder : folders) fs::create_directory(root / folder);
  for (const auto& [path, content] : files) std::ofstream(root / path, std::ios::binary) << content;
}

std::uint64_t DiskState::hash() const {
  std::uint64_t hash = 0;
  for (const std::string& folder : folders) hash = checksum64(folder, hash);
  for (const auto& [path, content] : files) hash = checksum64(content, checksum64(path, hash));
  return hash;
}

DiskState Disk::cut(std::size_t count, std::uint64_t draw, const RandomStream& dice) const {
  Replay replay;
  for (std::size_t i = 0; i < count; ++i) replay.apply(record_[i]);
  return replay.survivors(draw, dice);
}

int Disk::promised(std::size_t count, const std::string& word) const {
  for (std::size_t i = count; i-- > 0;) {
    if (record_[i].kind == Kind::mark && record_[i].target.starts_with(word + " "))
      return std::stoi(record_[i].target.substr(word.size() + 1));
  }
  return 0;
}

}  // namespace rollcall::faults
