// A compact file has one dataset of values, one dataset with the places of the columns, and one
// attribute with facts. HDF5 builds it in memory with a dozen calls.
#include "io/compact_tables.hpp"

#include "base/files/file.hpp"
#include "base/text/foreign_json.hpp"
#include "base/text/json.hpp"
#include "io/segment.hpp"

#include <algorithm>
#include <cstring>

namespace rollcall::io {
namespace {

using nlohmann::json;

constexpr const char *kFacts = "facts", *kIndex = "index", *kColumns = "columns",
                     *kSegments = "segments", *kComponentNames = "component_names";

/// A row of the index as the file stores it.
struct IndexRow {
  char name[32];
  char type[8];                  ///< in NumPy's notation
  std::uint64_t offset, length;  ///< place and size in `columns`, in bytes
  std::uint64_t checksum;
};

const char* code_of(ElementType type) {
  switch (type) {
    case ElementType::i8: return "|i1";
    case ElementType::u8: return "|u1";
    case ElementType::i32: return "<i4";
    case ElementType::u32: return "<u4";
    case ElementType::u64: return "<u8";
    case ElementType::i64: return "<i8";
    case ElementType::f32: return "<f4";
    case ElementType::f64: return "<f8";
  }
  throw FileFault("unknown element type");
}

std::optional<ElementType> type_from(const std::string& code) {
  for (int type = 0; type <= int(ElementType::i64); ++type)
    if (code == code_of(ElementType(type))) return ElementType(type);
  return std::nullopt;
}

Handle text_type(std::size_t size) {
  Handle type(H5Tcopy(H5T_C_S1), "make string type");
  check(H5Tset_size(type, size), "size string type");
  check(H5Tset_strpad(type, H5T_STR_NULLPAD), "pad string type");
  check(H5Tset_cset(type, H5T_CSET_UTF8), "set UTF-8");
  return type;
}

Handle index_type() {
  Handle type(H5Tcreate(H5T_COMPOUND, sizeof(IndexRow)), "make index type");
  const auto member = [&](const char* name, std::size_t offset, hid_t of) {
    check(H5Tinsert(type, name, offset, of), "make index type");
  };
  member("name", HOFFSET(IndexRow, name), text_type(sizeof IndexRow::name));
  member("type", HOFFSET(IndexRow, type), text_type(sizeof IndexRow::type));
  member("offset", HOFFSET(IndexRow, offset), H5T_STD_U64LE);
  member("bytes", HOFFSET(IndexRow, length), H5T_STD_U64LE);
  member(kChecksum, HOFFSET(IndexRow, checksum), H5T_STD_U64LE);
  return type;
}

/// Types and property lists for writing and reading, made once per process, because making them
/// takes a quarter of HDF5's time for a file. Each write sets the memory size of `access`, under
/// the lock (handle.hpp).
struct Forms {
  Handle access = file_properties();
  Handle file{H5Pcreate(H5P_FILE_CREATE), "make file properties"},
      dataset{H5Pcreate(H5P_DATASET_CREATE), "make dataset properties"};
  Handle row = index_type(), scalar{H5Screate(H5S_SCALAR), "make scalar space"};

  Forms() {
    check(H5Pset_obj_track_times(file, false), "leave out time stamps");
    check(H5Pset_obj_track_times(dataset, false), "leave out time stamps");
    check(H5Pset_fill_time(dataset, H5D_FILL_TIME_NEVER), "leave out fill values");
    check(H5Pset_alloc_time(dataset, H5D_ALLOC_TIME_EARLY), "make room at once");
  }
};
const Forms& forms() {
  static const Forms& made = *new Forms;  // never freed, like HDF5 itself (handle.cpp)
  return made;
}

Handle list_space(hsize_t length) {
  return Handle(H5Screate_simple(1, &length, nullptr), "make space");
}

std::vector<IndexRow> index_of(std::span<const ColumnView> columns) {
  std::vector<IndexRow> rows;
  std::uint64_t end = 0;
  for (const ColumnView& view : columns) {
    IndexRow& row = rows.emplace_back(IndexRow{});
    const std::string name = path_of(view.column);
    if (name.size() > sizeof row.name) throw FileFault(fmt::format("{} is too long a name", name));
    std::ranges::copy(name, row.name);
    std::strcpy(row.type, code_of(view.type));
    row.offset = end, row.length = view.bytes.size(), row.checksum = checksum64(view.bytes);
    end += row.length;
  }
  return rows;
}

std::string facts_of(const Layout& layout) {
  json facts = json::object();
  for (const auto& [name, value] : layout.attributes)
    if (!is_schema_version(name))
      std::visit([&facts, key = name](const auto& one) { facts[key] = one; }, value);
  if (!layout.component_names.empty()) facts[kComponentNames] = layout.component_names;
  return facts.dump(-1, ' ', false, json::error_handler_t::replace);
}

void write_attribute(hid_t file, const char* name, hid_t type, const void* value) {
  const Handle made(H5Acreate2(file, name, type, forms().scalar, H5P_DEFAULT, H5P_DEFAULT),
                    "create attribute", name);
  check(H5Awrite(made, type, value), "write attribute", name);
}

void write_attributes(hid_t file, const Layout& layout) {
  for (const auto& [name, value] : layout.attributes)
    if (is_schema_version(name))
      write_attribute(file, name, H5T_STD_I32LE, &std::get<std::int32_t>(value));
  const std::string facts = facts_of(layout);
  write_attribute(file, kFacts, text_type(facts.size()), facts.data());
}

Handle create_list(hid_t file, const char* name, hid_t type, std::uint64_t length) {
  return Handle(
      H5Dcreate2(file, name, type, list_space(length), H5P_DEFAULT, forms().dataset, H5P_DEFAULT),
      "create dataset", name);
}

void write_list(hid_t file, const char* name, hid_t type, std::uint64_t length,
                const void* values) {
  const Handle dataset = create_list(file, name, type, length);
  if (length > 0)
    check(H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values), "write", name);
}

template <class T>
std::vector<T> read_list(hid_t file, const char* name, hid_t type, std::uintmax_t most) {
  const Handle dataset(H5Dopen2(file, name, H5P_DEFAULT), "open", name);
  const Handle space(H5Dget_space(dataset), "get space of", name),
      stored(H5Dget_type(dataset), "get type of", name);
  const auto length = H5Sget_simple_extent_npoints(space);
  if (H5Tequal(stored, type) <= 0 || H5Sget_simple_extent_ndims(space) != 1 || length < 0 ||
      std::uint64_t(length) > most)
    throw FileFault(fmt::format("{} does not have the form of a compact file", name));
  std::vector<T> values(std::size_t(length), T{});  // parentheses, because braces would make a
                                                    // vector of one number
  if (length > 0)
    check(H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), "read", name);
  return values;
}

std::string text_in(std::span<const char> padded) {
  return {padded.data(), ::strnlen(padded.data(), padded.size())};
}

/// The bytes of the file that HDF5 has built in memory, with the columns filled in.
std::span<std::byte> image_of(hid_t file, std::optional<haddr_t> place,
                              std::span<const ColumnView> columns) {
  check(H5Fflush(file, H5F_SCOPE_GLOBAL), "build");
  const ssize_t size = H5Fget_file_image(file, nullptr, 0);
  void** memory = nullptr;  // the buffer of the memory driver
  check(size < 0 ? -1 : H5Fget_vfd_handle(file, H5P_DEFAULT, reinterpret_cast<void**>(&memory)),
        "build");
  const std::span image(static_cast<std::byte*>(*memory), std::size_t(size));
  if (place) {
    auto next = image.begin() + std::ptrdiff_t(*place);
    for (const ColumnView& view : columns) next = std::ranges::copy(view.bytes, next).out;
  }
  return image;
}

}  // namespace

bool is_schema_version(std::string_view attribute) {
  return attribute == "schema_major" || attribute == "schema_minor";
}

std::string build_compact(std::span<const ColumnView> columns, const Layout& layout) {
  std::vector<std::uint64_t> segments;
  std::uint64_t length = 0;
  for (const ColumnView& view : columns) {
    length += view.bytes.size();
    if (segment_count(view.bytes.size()) > 1)
      std::ranges::copy(segment_checksums(view.bytes), std::back_inserter(segments));
  }
  constexpr std::size_t kRest = 1 << 13;  // metadata and index
  check(H5Pset_fapl_core(forms().access, std::size_t(length) + kRest, false),
        "choose memory driver");
  // HDF5 looks for the file even though it stays in memory; no file has this name
  constexpr const char* kNowhere = "/dev/null/in-memory";
  const Handle file(H5Fcreate(kNowhere, H5F_ACC_TRUNC, forms().file, forms().access), "create");
  write_attributes(file, layout);
  const auto index = index_of(columns);
  write_list(file, kIndex, forms().row, index.size(), index.data());
  if (!segments.empty())
    write_list(file, kSegments, H5T_STD_U64LE, segments.size(), segments.data());
  const haddr_t place = H5Dget_offset(create_list(file, kColumns, H5T_STD_U8LE, length));
  const auto image =
      image_of(file, place == HADDR_UNDEF ? std::nullopt : std::optional(place), columns);
  return {reinterpret_cast<const char*>(image.data()), image.size()};
}

bool CompactTables::is_compact(hid_t file) { return H5Aexists(file, kFacts) > 0; }

CompactTables::CompactTables(hid_t file, std::span<const std::byte> mapped)
    : columns_(H5Dopen2(file, kColumns, H5P_DEFAULT), "open", kColumns), mapped_(mapped) {
  const Handle space(H5Dget_space(columns_), "get space of", kColumns),
      type(H5Dget_type(columns_), "get type of", kColumns);
  const auto length = H5Sget_simple_extent_npoints(space);
  hsize_t bytes = 0;
  check(H5Fget_filesize(file, &bytes), "look at");
  if (H5Tequal(type, H5T_STD_U8LE) <= 0 || length < 0 || std::uint64_t(length) > bytes)
    throw FileFault(fmt::format("{} does not have the form of a compact file", kColumns));
  length_ = std::uint64_t(length);
  read_facts(file);
  read_index(file, bytes);
}

void CompactTables::read_facts(hid_t file) {
  const Handle attribute(H5Aopen(file, kFacts, H5P_DEFAULT), "open attribute", kFacts),
      type(H5Aget_type(attribute), "get type of", kFacts);
  check_scalar(attribute, kFacts);
  if (H5Tget_class(type) != H5T_STRING || H5Tis_variable_str(type) != 0)
    throw FileFault("attribute facts is not one string");
  std::string words(H5Tget_size(type), '\0');
  check(H5Aread(attribute, type, words.data()), "read attribute", kFacts);
  try {
    const json facts = json::parse(words);
    for (const auto& [name, value] : facts.items()) {
      if (name == kComponentNames) component_names_ = value.get<std::vector<std::string>>();
      else if (value.is_string()) facts_[name] = value.get<std::string>();
      else if (value.is_number_unsigned()) facts_[name] = value.get<std::uint64_t>();
      else facts_[name] = value.get<double>();
    }
  } catch (const json::exception& fault) {
    throw FileFault(
        fmt::format("attribute facts is not what a compact file has: {}", fault_of(fault)));
  }
}

void CompactTables::read_index(hid_t file, std::uint64_t file_bytes) {
  const auto rows = read_list<IndexRow>(file, kIndex, forms().row, file_bytes / sizeof(IndexRow));
  const bool segmented = H5Lexists(file, kSegments, H5P_DEFAULT) > 0;
  const auto segments = segmented ? read_list<std::uint64_t>(file, kSegments, H5T_STD_U64LE,
                                                             file_bytes / sizeof(std::uint64_t))
                                  : std::vector<std::uint64_t>{};
  std::size_t next = 0;
  for (const IndexRow& row : rows) {
    const std::string name = text_in(row.name);
    const auto type = type_from(text_in(row.type));
    if (!type || row.length % width_of(*type) != 0)
      throw FileFault(fmt::format("{} has no type of a column", name));
    if (row.offset > length_ || row.length > length_ - row.offset)
      throw FileFault(fmt::format("{} extends past the end of the columns", name));
    const std::uint64_t count = segment_count(row.length);
    if (count > 1 && count > segments.size() - next)
      throw FileFault(fmt::format("{} has fewer checksums than segments", name));
    const auto first = segments.begin() + std::ptrdiff_t(next),
               last = first + std::ptrdiff_t(count > 1 ? count : 0);
    next += std::size_t(last - first);
    index_[name] = {*type, row.offset, row.length, row.checksum, {first, last}};
  }
}

const CompactColumn* CompactTables::find(const std::string& column) const {
  const auto found = index_.find(column);
  return found == index_.end() ? nullptr : &found->second;
}

std::optional<std::uint64_t> CompactTables::place() const {
  const haddr_t offset = H5Dget_offset(columns_);
  return offset == HADDR_UNDEF ? std::nullopt : std::optional<std::uint64_t>(offset);
}

std::span<const std::byte> CompactTables::values(const CompactColumn& column) {
  if (block_.size() != length_) {
    if (mapped_.empty()) {
      own_.resize(length_);
      check(H5Dread(columns_, H5T_STD_U8LE, H5S_ALL, H5S_ALL, H5P_DEFAULT, own_.data()), "read",
            kColumns);
      block_ = own_;
    } else {
      block_ = stored_bytes(columns_, mapped_, kColumns);
      if (block_.size() != length_)
        throw FileFault(fmt::format("{} occupies {} bytes where its shape says {}", kColumns,
                                    block_.size(), length_));
    }
  }
  return block_.subspan(column.offset, column.bytes);
}

template <class T>
const T& CompactTables::fact(const std::string& name) const {
  const auto found = facts_.find(name);
  if (found == facts_.end() || !std::holds_alternative<T>(found->second))
    throw FileFault(fmt::format("cannot find {} of its type among the facts", name));
  return std::get<T>(found->second);
}

std::string CompactTables::text(const std::string& name) const { return fact<std::string>(name); }

void CompactTables::number(const std::string& name, ElementType type, void* value) const {
  const auto take = [&]<class T>(T) {
    const std::uint64_t whole = fact<std::uint64_t>(name);
    if (!std::in_range<T>(whole))
      throw FileFault(fmt::format("fact {} is {}, which is too large", name, whole));
    const T narrow = T(whole);
    std::memcpy(value, &narrow, sizeof narrow);
  };
  const auto real = [&] { return float(fact<double>(name)); };
  switch (type) {
    case ElementType::i32: return take(std::int32_t{});
    case ElementType::u32: return take(std::uint32_t{});
    case ElementType::u64: return take(std::uint64_t{});
    case ElementType::f32: return *static_cast<float*>(value) = real(), void();
    case ElementType::i8:
    case ElementType::u8:
    case ElementType::i64:
    case ElementType::f64: break;
  }
  throw FileFault(fmt::format("fact {} is asked for as a number of another type", name));
}

}  // namespace rollcall::io
