// Compact files, schema 2: the columns of a shard end to end in one dataset, with an index. The
// work that HDF5 does is then the same for any number of columns. Private to io.
#pragma once

#include "io/table_file.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace rollcall::io {

/// Compact files have their own major version. The minor version says which columns there are, as
/// in files of schema 1.
inline constexpr int kCompactMajor = 2;

/// Whether the attribute is part of the schema version. Such attributes remain HDF5 attributes in
/// every file, so that older programs refuse a newer file by name.
bool is_schema_version(std::string_view attribute);

/// The content of a compact file. The same values give the same bytes. The schema version stays in
/// attributes; all other attributes become `facts`. Throws FileFault.
std::string build_compact(std::span<const ColumnView> columns, const Layout& layout);

/// A row of the index.
struct CompactColumn {
  ElementType type;
  std::uint64_t offset, bytes;  ///< place in the dataset of columns
  std::uint64_t checksum;
  std::vector<std::uint64_t> segments;  ///< checksums; empty if the column is one segment
};

/// Reads the facts and columns of a compact file. Every fault is a FileFault.
class CompactTables {
 public:
  static bool is_compact(hid_t file);
  /// `mapped`: the whole file if it is mapped; otherwise the columns are read when the first one is
  /// needed. `file` must outlive this object.
  CompactTables(hid_t file, std::span<const std::byte> mapped);

  /// Null when the file has no such column.
  const CompactColumn* find(const std::string& column) const;
  std::span<const std::byte> values(const CompactColumn& column);
  std::optional<std::uint64_t> place() const;  ///< offset of the columns in the file; empty if all
                                               ///< columns are empty

  bool has(const std::string& fact) const { return facts_.contains(fact); }
  std::string text(const std::string& fact) const;
  /// A number of type i32, u32, u64 or f32.
  void number(const std::string& fact, ElementType type, void* value) const;
  const std::vector<std::string>& component_names() const { return component_names_; }

 private:
  using Fact = std::variant<std::string, std::uint64_t, double>;
  void read_facts(hid_t file);
  void read_index(hid_t file, std::uint64_t file_bytes);
  template <class T>
  const T& fact(const std::string& name) const;

  Handle columns_;
  std::span<const std::byte> mapped_, block_;
  std::vector<std::byte> own_;
  std::uint64_t length_ = 0;
  std::map<std::string, Fact> facts_;
  std::vector<std::string> component_names_;
  std::map<std::string, CompactColumn> index_;
};

}  // namespace rollcall::io
