// Writes columns to one HDF5 file and reads them back: contiguous datasets, dimension scales as in
// netCDF-4, a checksum for each column. Private to io.
#pragma once

#include "base/numbers/hash.hpp"
#include "io/dimension_lengths.hpp"
#include "io/handle.hpp"
#include "io/schema.hpp"

#include <fmt/format.h>

#include <concepts>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace rollcall::io {

enum class ElementType : std::uint8_t { i8, u8, i32, u32, u64, f32, f64, i64 };
template <class T>
constexpr ElementType type_of() {
  if constexpr (std::same_as<T, std::int8_t>) return ElementType::i8;
  else if constexpr (std::same_as<T, std::uint8_t>) return ElementType::u8;
  else if constexpr (std::same_as<T, std::int32_t>) return ElementType::i32;
  else if constexpr (std::same_as<T, std::uint32_t>) return ElementType::u32;
  else if constexpr (std::same_as<T, std::uint64_t>) return ElementType::u64;
  else if constexpr (std::same_as<T, std::int64_t>) return ElementType::i64;
  else if constexpr (std::same_as<T, float>) return ElementType::f32;
  else {
    static_assert(std::same_as<T, double>, "a column of a type the schema does not know");
    return ElementType::f64;
  }
}
/// Bytes per element in memory and in a file. Unlike H5Tget_size(), this needs no HDF5 lock.
constexpr std::size_t width_of(ElementType type) {
  switch (type) {
    case ElementType::i8:
    case ElementType::u8: return 1;
    case ElementType::i32:
    case ElementType::u32:
    case ElementType::f32: return 4;
    case ElementType::u64:
    case ElementType::i64:
    case ElementType::f64: return 8;
  }
  return 0;  // there are no other types
}
hid_t file_type(ElementType type);  ///< HDF5's little-endian type, for values in memory as well
std::string path_of(const Column& column);  ///< "tokens/logprob"
Handle file_properties();  ///< how every file is opened: format of HDF5 1.8, no locks
inline constexpr const char* kChecksum = "xxh3_64";

/// A column in memory: one rank's stretch, or the whole column.
struct ColumnView {
  Column column;
  ElementType type;
  std::span<const std::byte> bytes;
  std::size_t elements;
};
template <class... Sets>
std::vector<ColumnView> views(const Sets&... sets) {
  std::vector<ColumnView> all;
  const auto add = [&](const Column& c, const auto& values) {
    all.push_back({c, type_of<typename std::remove_cvref_t<decltype(values)>::value_type>(),
                   std::as_bytes(std::span(values)), values.size()});
  };
  (Sets::each(sets, add), ...);
  return all;
}
/// The length of every dimension according to the columns; throws FileFault if two columns of a
/// dimension disagree.
Extents extents_of(std::span<const ColumnView> columns, std::size_t components);

using Attributes = std::vector<
    std::pair<const char*, std::variant<std::string, std::uint64_t, std::int32_t, float>>>;

/// Everything in a file except the values of its columns.
struct Layout {
  Extents extents{};
  std::vector<std::string> component_names;  ///< empty if the file has no scores
  Attributes attributes;
};

/// Whether write_tables() writes the values. With `later` the columns have no storage and zero
/// checksums until fill_stretches() and seal_columns() are called.
enum class Values : std::uint8_t { here, later };
/// Writes a file with these columns. The same values give the same bytes.
void write_tables(const std::filesystem::path& path, std::span<const ColumnView> columns,
                  const Layout& layout, Values values);
/// Checksum of the names of reward components, each followed by a zero byte.
std::uint64_t names_checksum(std::span<const std::string> names);
Handle open_column(hid_t file, const Column& column);
void write_checksum(hid_t dataset, std::uint64_t checksum);
/// The bytes of the column in the mapped file: contiguous, little-endian, not filtered. Throws
/// FileFault.
std::span<const std::byte> stored_bytes(hid_t dataset, std::span<const std::byte> file,
                                        const std::string& name);

/// Whether columns are compared with their own checksums. This is not necessary if the file's bytes
/// have already been compared, and it is most of the work for small columns.
enum class ColumnChecksums : std::uint8_t { compare, known };

/// The number of values of a coded column (Column::flags) that have names. They are 0, 1, ...
std::int64_t codes_of(const Column& column);
[[noreturn]] void refuse_code(const Column& column, std::int64_t value);
/// Throws FileFault for a value in a coded column that has no name.
template <std::integral T>
void check_codes(const Column& column, const std::vector<T>& values) {
  const std::int64_t codes = codes_of(column);
  for (const T value : values)
    if (const auto code = std::int64_t(value); code < 0 || code >= codes) refuse_code(column, code);
}

class CompactTables;
struct CompactColumn;

/// Reads columns from both kinds of files, those with tables and compact ones, and refuses anything
/// that does not fit the schema. Every fault is a FileFault.
class TableReader {
 public:
  /// `mapped`: the whole file if it is mapped; values are then taken from there.
  explicit TableReader(const std::filesystem::path& path, std::span<const std::byte> mapped = {},
                       ColumnChecksums checksums = ColumnChecksums::compare);
  ~TableReader();
  std::string text(const char* attribute) const;
  std::string text_if_any(const char* attribute) const;  ///< empty if the file lacks it
  template <class T>
  T number(const char* attribute) const {
    T value{};
    read_number(attribute, type_of<T>(), &value);
    return value;
  }
  std::vector<std::string> component_names() const;  ///< only after the components have been read

  template <class Set>
  void read(Set& set) {
    Set::each(set, [this](const Column& column, auto& values) { read_column(column, values); });
  }
  template <class T>
  void read_column(const Column& column, std::vector<T>& values) {
    if (lacks(column)) {
      values.assign(lengths_.of(column.rows), static_cast<T>(column.absent));
      return;
    }
    const Found found = find(column);
    values.resize(elements(found, column, type_of<T>()));
    read_values(found, column, type_of<T>(), std::as_writable_bytes(std::span(values)));
    if constexpr (std::same_as<T, std::uint32_t> || std::same_as<T, std::int64_t>)
      if (column.counts) lengths_.note_counts(column, values);
    if constexpr (std::integral<T>)
      if (column.flags != nullptr) check_codes(column, values);
  }
  /// The bytes of a column in the mapped file, with the same checks as in read_column().
  std::span<const std::byte> in_place(const Column& column, ElementType type);
  bool has(const Column& column) const;
  /// Whether the file's minor version is older than the column.
  bool lacks(const Column& column) const {
    return column.since_minor > 0 && column.since_minor > number<std::int32_t>("schema_minor");
  }
  std::uint64_t rows(const char* column) const;  ///< rows of a column ("groups/step"), by its shape
  /// To be called after all reads. Throws FileFault unless every sum of counts is the length of the
  /// dimension that it counts.
  void check_counts() const { lengths_.check_counts(); }
  const Extents& extents() const { return lengths_.extents(); }

 private:
  /// Where a column was found: as a dataset of a file with tables, or in a compact file.
  struct Found {
    Handle dataset{};
    const CompactColumn* compact = nullptr;
  };
  Found find(const Column& column) const;
  std::vector<std::uint64_t> shape(const Found& found, const Column& column,
                                   ElementType type) const;
  void read_number(const char* attribute, ElementType type, void* value) const;
  std::size_t elements(const Found& found, const Column& column, ElementType type);
  void read_values(const Found& found, const Column& column, ElementType type,
                   std::span<std::byte> bytes) const;
  void check_values(const Found& found, const std::string& name,
                    std::span<const std::byte> bytes) const;

  std::span<const std::byte> mapped_;
  ColumnChecksums checksums_;
  std::uintmax_t file_bytes_;
  Handle file_;
  std::unique_ptr<CompactTables> compact_;  ///< null if the file has tables
  DimensionLengths lengths_;
};

}  // namespace rollcall::io
