// Reads table files. Shape, type, checksum and counts of every column are checked before its values
// are used.
#include "io/compact_tables.hpp"
#include "io/open_tables.hpp"
#include "io/segment.hpp"
#include "io/table_file.hpp"

#include <algorithm>
#include <cstring>

namespace rollcall::io {
namespace {

std::vector<std::uint64_t> shape_of(hid_t dataset) {
  const Handle space(H5Dget_space(dataset), "get space");
  static_assert(sizeof(hsize_t) == sizeof(std::uint64_t));
  std::vector<hsize_t> shape(std::size_t(std::max(0, H5Sget_simple_extent_ndims(space))));
  check(H5Sget_simple_extent_dims(space, shape.data(), nullptr), "get shape");
  return {shape.begin(), shape.end()};
}

std::uint64_t checksum_of(hid_t dataset, const std::string& name) {
  std::uint64_t wanted = 0;
  const Handle attribute(H5Aopen(dataset, kChecksum, H5P_DEFAULT), "open checksum of", name);
  check_scalar(attribute, name);
  check(H5Aread(attribute, H5T_STD_U64LE, &wanted), "read checksum of", name);
  return wanted;
}

/// Throws FileFault when the checksums differ. `place`: where in the column, if known.
void compare_checksum(std::uint64_t wanted, const std::string& name, std::uint64_t found,
                      const std::string& place = {}) {
  if (found != wanted)
    throw FileFault(fmt::format("{} has checksum {} where {} is recorded{}", name, hex64(found),
                                hex64(wanted), place));
}

/// ": bytes 4194304 to 8388607 differ"
std::string place_text(const std::vector<std::pair<std::uint64_t, std::uint64_t>>& damaged) {
  std::string text;
  for (const auto& [first, last] : damaged)
    text += fmt::format("{} {} to {}", text.empty() ? ": bytes" : ",", first, last);
  return text.empty() ? text : text + " differ";
}

/// Whether an attribute is among the facts of a compact file, as all but the schema's version are.
bool is_fact(const CompactTables* compact, const char* attribute) {
  return compact != nullptr && !is_schema_version(attribute);
}

/// The column's bytes in the mapped file. Throws FileFault unless there are `length` of them.
std::span<const std::byte> stored(hid_t dataset, std::span<const std::byte> mapped,
                                  const std::string& name, std::size_t length) {
  const auto bytes = stored_bytes(dataset, mapped, name);
  if (bytes.size() != length)
    throw FileFault(
        fmt::format("{} occupies {} bytes where its shape says {}", name, bytes.size(), length));
  return bytes;
}

}  // namespace

void TableReader::check_values(const Found& found, const std::string& name,
                               std::span<const std::byte> bytes) const {
  if (checksums_ == ColumnChecksums::known) return;
  const CompactColumn* const compact = found.compact;
  Stretches damaged;
  if (compact == nullptr) damaged = damaged_segments(found.dataset, bytes);
  else if (!compact->segments.empty())
    damaged = differing_segments(bytes, segment_bytes(bytes.size()), compact->segments);
  compare_checksum(compact != nullptr ? compact->checksum : checksum_of(found.dataset, name), name,
                   checksum64(bytes), place_text(damaged));
  if (!damaged.empty())
    throw FileFault(fmt::format("{} has its checksum, but not those of its segments{}", name,
                                place_text(damaged)));
}

TableReader::TableReader(const std::filesystem::path& path, std::span<const std::byte> mapped,
                         ColumnChecksums checksums)
    : mapped_(mapped),
      checksums_(checksums),
      file_bytes_(plain_size(path)),
      file_(open_tables(path)),
      compact_(CompactTables::is_compact(file_) ? std::make_unique<CompactTables>(file_, mapped)
                                                : nullptr) {}

TableReader::~TableReader() = default;

std::string TableReader::text(const char* attribute) const {
  if (is_fact(compact_.get(), attribute)) return compact_->text(attribute);
  const Handle opened(H5Aopen(file_, attribute, H5P_DEFAULT), "open attribute", attribute);
  const Handle type(H5Aget_type(opened), "get type of", attribute);
  const Handle space(H5Aget_space(opened), "get space of", attribute);
  if (H5Tis_variable_str(type) <= 0 || H5Sget_simple_extent_npoints(space) != 1)
    throw FileFault(fmt::format("attribute {} is not one string", attribute));
  char* words = nullptr;
  check(H5Aread(opened, type, &words), "read attribute", attribute);
  std::string value = words == nullptr ? "" : words;
  H5free_memory(words);
  return value;
}

std::string TableReader::text_if_any(const char* attribute) const {
  const bool has = is_fact(compact_.get(), attribute) ? compact_->has(attribute)
                                                      : H5Aexists(file_, attribute) > 0;
  return has ? text(attribute) : std::string();
}

void TableReader::read_number(const char* attribute, ElementType type, void* value) const {
  if (is_fact(compact_.get(), attribute)) return compact_->number(attribute, type, value);
  const Handle opened(H5Aopen(file_, attribute, H5P_DEFAULT), "open attribute", attribute);
  const Handle space(H5Aget_space(opened), "get space of", attribute);
  if (H5Sget_simple_extent_npoints(space) != 1)
    throw FileFault(fmt::format("attribute {} is not one number", attribute));
  check(H5Aread(opened, file_type(type), value), "read attribute", attribute);
}

std::vector<std::string> TableReader::component_names() const {
  if (compact_) return compact_->component_names();
  const char* name = "rollouts/component";
  const Handle dataset(H5Dopen2(file_, name, H5P_DEFAULT), "open", name);
  const Handle type(H5Dget_type(dataset), "get type of", name);
  if (H5Tis_variable_str(type) <= 0 ||
      shape_of(dataset) != std::vector<std::uint64_t>{lengths_.of(Dim::component)})
    throw FileFault(fmt::format("{} is not one name per column of rollouts/components", name));
  std::vector<char*> words(lengths_.of(Dim::component), nullptr);
  if (!words.empty())
    check(H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, words.data()), "read", name);
  std::vector<std::string> names;
  for (char* word : words) {
    names.emplace_back(word == nullptr ? "" : word);
    H5free_memory(word);
  }
  compare_checksum(checksum_of(dataset, name), name, names_checksum(names));
  return names;
}

TableReader::Found TableReader::find(const Column& column) const {
  if (!compact_) return {open_column(file_, column), nullptr};
  const CompactColumn* const found = compact_->find(path_of(column));
  if (found == nullptr)
    throw FileFault(fmt::format("cannot open column {}: it is not in the index", path_of(column)));
  return {{}, found};
}

/// The index of a compact file has no shapes, but a matrix has a column for each component.
std::vector<std::uint64_t> TableReader::shape(const Found& found, const Column& column,
                                              ElementType type) const {
  bool same_type = false;
  if (found.compact != nullptr) {
    same_type = found.compact->type == type;
  } else {
    const Handle stored(H5Dget_type(found.dataset), "get type");
    same_type = H5Tequal(stored, file_type(type)) > 0;  // byte order is not checked, because reads
                                                        // convert to little-endian
  }
  if (!same_type)
    throw FileFault(fmt::format("{} does not have the type that schema {}.{} gives",
                                path_of(column), kSchemaMajor, kSchemaMinor));
  if (found.compact == nullptr) return shape_of(found.dataset);
  const std::uint64_t elements = found.compact->bytes / width_of(type),
                      across = compact_->component_names().size();
  if (!column.by_component) return {elements};
  if (across == 0 || elements % across != 0)
    throw FileFault(
        fmt::format("{} is not a column for each of {} names", path_of(column), across));
  return {elements / across, across};
}

std::size_t TableReader::elements(const Found& found, const Column& column, ElementType type) {
  const auto shape = this->shape(found, column, type);
  if (shape.size() != (column.by_component ? 2U : 1U))
    throw FileFault(fmt::format("{} has {} dimensions", path_of(column), shape.size()));
  lengths_.note(column.rows, shape[0], path_of(column));
  if (column.by_component) lengths_.note(Dim::component, shape[1], path_of(column));
  // Columns are not compressed, so none is larger than the file. A damaged shape must not make the
  // reader allocate all memory.
  const std::uint64_t width = width_of(type), rows = shape[0],
                      across = column.by_component ? shape[1] : 1;
  if (rows > file_bytes_ || across > file_bytes_ ||
      (across > 0 && rows > file_bytes_ / width / across))
    throw FileFault(fmt::format("{} claims more rows than the file holds", path_of(column)));
  return rows * across;
}

void TableReader::read_values(const Found& found, const Column& column, ElementType type,
                              std::span<std::byte> bytes) const {
  const std::string name = path_of(column);
  const hid_t dataset = found.dataset;
  if (found.compact != nullptr) std::ranges::copy(compact_->values(*found.compact), bytes.begin());
  else if (!mapped_.empty())
    std::ranges::copy(stored(dataset, mapped_, name, bytes.size()),
                      bytes.begin());  // HDF5 would allocate its own buffer first
  else if (!bytes.empty())
    check(H5Dread(dataset, file_type(type), H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data()), "read",
          name);
  check_values(found, name, bytes);
}

std::span<const std::byte> TableReader::in_place(const Column& column, ElementType type) {
  const std::string name = path_of(column);
  const Found found = find(column);
  const std::size_t length = elements(found, column, type) * width_of(type);
  const auto bytes = found.compact != nullptr ? compact_->values(*found.compact)
                                              : stored(found.dataset, mapped_, name, length);
  check_values(found, name, bytes);
  return bytes;
}

std::uint64_t TableReader::rows(const char* column) const {
  if (compact_) {
    const CompactColumn* const found = compact_->find(column);
    if (found == nullptr)
      throw FileFault(fmt::format("cannot open column {}: it is not in the index", column));
    return found->bytes / width_of(found->type);
  }
  const auto shape = shape_of(Handle(H5Dopen2(file_, column, H5P_DEFAULT), "open column", column));
  return shape.empty() ? 0 : shape.front();
}

bool TableReader::has(const Column& column) const {
  if (compact_) return compact_->find(path_of(column)) != nullptr;
  return H5Lexists(file_, column.table, H5P_DEFAULT) > 0 &&
         H5Lexists(file_, path_of(column).c_str(), H5P_DEFAULT) > 0;
}

std::int64_t codes_of(const Column& column) {
  return std::count(column.flags, column.flags + std::strlen(column.flags), ' ') + 1;
}

void refuse_code(const Column& column, std::int64_t value) {
  throw FileFault(
      fmt::format("{} holds {}, which is none of: {}", path_of(column), value, column.flags));
}

}  // namespace rollcall::io
