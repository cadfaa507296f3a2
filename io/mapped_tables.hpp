// A published file, for code that works on whole columns. Small tables are read, and tokens and
// text stay in the mapped file. Private to io.
#pragma once

#include "io/mapped_file.hpp"
#include "io/published.hpp"
#include "io/table_file.hpp"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace rollcall::io {

/// Everything is checked before it is used. The bytes of the file are checked before HDF5 reads
/// them, and after that schema, types, checksums, codes and counts. Throws FileFault.
class MappedTables {
 public:
  /// `kind`: shard, scores or archive; a scored file counts as a shard and as scores.
  MappedTables(const std::filesystem::path& run_dir, const PublishedFile& file, const char* kind,
               ColumnChecksums checksums);

  /// Reads a set of columns and adds all of them to `columns`, which are valid as long as `set` and
  /// the mapped file exist.
  template <class Set>
  void read(Set& set, std::vector<ColumnView>& columns) {
    Set::each(set, [&]<class T>(const Column& column, std::vector<T>& values) {
      if (is_large(column) && !reader_.lacks(column)) {
        const auto bytes = reader_.in_place(column, type_of<T>());
        columns.push_back({column, type_of<T>(), bytes, bytes.size() / sizeof(T)});
      } else {
        reader_.read_column(column, values);
        columns.push_back({column, type_of<T>(), std::as_bytes(std::span(values)), values.size()});
      }
    });
  }
  const TableReader& reader() const {
    return reader_;
  }  ///< the reader, for counts and attributes, after all reads
  std::unique_ptr<MappedFile> release() { return std::move(mapped_); }

 private:
  static bool is_large(const Column& column);  ///< whether it has a value for every token or byte;
                                               ///< such columns are nearly all of a file

  std::unique_ptr<MappedFile> mapped_;
  TableReader reader_;
};

}  // namespace rollcall::io
