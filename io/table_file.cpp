// Creates table files. A file has about thirty datasets, so types, spaces and property lists are
// made once per file.
#include "io/table_file.hpp"

#include "base/files/plain_file.hpp"
#include "io/segment.hpp"

#include <algorithm>
#include <bit>

namespace rollcall::io {
namespace {

static_assert(std::endian::native == std::endian::little,
              "columns are written as they lie in memory, and the schema is little-endian");

/// Files have the format of HDF5 1.8 and later (compact headers with checksums), and no time
/// stamps, so that equal content gives equal bytes.
class FileWriter {
 public:
  FileWriter(hid_t file, const Layout& layout);
  Handle define(const ColumnView& column, Values values);
  void finish();  ///< writes the back references of the dimension scales

 private:
  struct BackReference {
    hobj_ref_t dataset;
    std::int32_t axis;
  };
  struct Scale {
    Handle dataset, space;
    hobj_ref_t reference = 0;
    std::vector<BackReference> users;
  };
  hid_t table(const char* name);
  Scale& scale(Dim dim);
  void name_components(const Scale& scale);
  void attach(hid_t dataset, std::span<const Dim> axes);
  void attribute(hid_t object, const char* name, hid_t type, const void* value, hid_t space);
  void text(hid_t object, const char* name, const char* value) {
    attribute(object, name, string_type_, &value, scalar_);
  }
  void fixed_text(hid_t object, const char* name, const std::string& value);

  hid_t file_;
  const Layout& layout_;
  Handle scalar_, one_, two_, string_type_, reference_list_type_, back_reference_type_, table_list_,
      dataset_list_;
  std::map<std::string, Handle> tables_;
  std::map<Dim, Scale> scales_;
};

Handle utf8_type(std::size_t size) {
  Handle type(H5Tcopy(H5T_C_S1), "make string type");
  check(H5Tset_size(type, size), "size string type");
  check(H5Tset_cset(type, H5T_CSET_UTF8), "set UTF-8");
  return type;
}

/// The values 0, 1, ... of a coded column, as elements of its type.
std::vector<std::byte> codes_as(ElementType type, std::size_t count) {
  const std::size_t width = width_of(type);
  std::vector<std::byte> values(count * width);
  for (std::size_t i = 0; i < count; ++i) values[i * width] = std::byte(i);  // little-endian
  return values;
}

Handle simple_space(hsize_t length) {
  return Handle(H5Screate_simple(1, &length, nullptr), "make space");
}

FileWriter::FileWriter(hid_t file, const Layout& layout)
    : file_(file),
      layout_(layout),
      scalar_(H5Screate(H5S_SCALAR), "make scalar space"),
      one_(simple_space(1)),
      two_(simple_space(2)),
      string_type_(utf8_type(H5T_VARIABLE)),
      reference_list_type_(H5Tvlen_create(H5T_STD_REF_OBJ), "make reference list type"),
      back_reference_type_(H5Tcreate(H5T_COMPOUND, sizeof(BackReference)),
                           "make back reference type"),
      table_list_(H5Pcreate(H5P_GROUP_CREATE), "make group properties"),
      dataset_list_(H5Pcreate(H5P_DATASET_CREATE), "make dataset properties") {
  check(
      H5Tinsert(back_reference_type_, "dataset", HOFFSET(BackReference, dataset), H5T_STD_REF_OBJ),
      "make back reference type");
  check(
      H5Tinsert(back_reference_type_, "dimension", HOFFSET(BackReference, axis), H5T_NATIVE_INT32),
      "make back reference type");
  check(H5Pset_link_creation_order(table_list_, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED),
        "track order");
  check(H5Pset_obj_track_times(table_list_, false), "leave out time stamps");
  check(H5Pset_link_phase_change(table_list_, 64, 32), "keep links compact");
  check(H5Pset_obj_track_times(dataset_list_, false), "leave out time stamps");
  check(H5Pset_fill_time(dataset_list_, H5D_FILL_TIME_NEVER), "leave out fill values");
  for (const auto& [name, value] : layout.attributes) {
    if (const auto* words = std::get_if<std::string>(&value)) text(file_, name, words->c_str());
    else if (const auto* whole = std::get_if<std::uint64_t>(&value))
      attribute(file_, name, H5T_STD_U64LE, whole, scalar_);
    else if (const auto* number = std::get_if<std::int32_t>(&value))
      attribute(file_, name, H5T_STD_I32LE, number, scalar_);
    else attribute(file_, name, H5T_IEEE_F32LE, &std::get<float>(value), scalar_);
  }
}

void FileWriter::attribute(hid_t object, const char* name, hid_t type, const void* value,
                           hid_t space) {
  const Handle made(H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT),
                    "create attribute", name);
  check(H5Awrite(made, type, value), "write attribute", name);
}

void FileWriter::fixed_text(hid_t object, const char* name, const std::string& value) {
  const Handle type(H5Tcopy(H5T_C_S1), "make string type");
  check(H5Tset_size(type, value.size() + 1), "size string type");
  attribute(object, name, type, value.c_str(), scalar_);
}

hid_t FileWriter::table(const char* name) {
  auto [place, fresh] = tables_.try_emplace(name);
  if (fresh)
    place->second = Handle(H5Gcreate2(file_, name, H5P_DEFAULT, table_list_, H5P_DEFAULT),
                           "create table", name);
  return place->second;
}

/// A dimension without coordinates is a dataset without storage, whose NAME is the sentence that
/// netCDF-4 reserves for this.
FileWriter::Scale& FileWriter::scale(Dim dim) {
  auto [place, fresh] = scales_.try_emplace(dim);
  Scale& made = place->second;
  if (!fresh) return made;
  const char* name = kDimensions[index(dim)].name;
  const auto length = layout_.extents[index(dim)];
  made.space = simple_space(length);
  const hid_t type = dim == Dim::component ? hid_t(string_type_) : H5T_STD_U8LE;
  const Handle properties(H5Pcreate(H5P_DATASET_CREATE), "make dataset properties");
  check(H5Pset_obj_track_times(properties, false), "leave out time stamps");
  made.dataset = Handle(H5Dcreate2(table(kDimensions[index(dim)].table), name, type, made.space,
                                   H5P_DEFAULT, properties, H5P_DEFAULT),
                        "create dimension", name);
  fixed_text(made.dataset, "CLASS", "DIMENSION_SCALE");
  fixed_text(
      made.dataset, "NAME",
      dim == Dim::component
          ? name
          : fmt::format("This is a netCDF dimension but not a netCDF variable.{:>10}", length));
  check(H5Rcreate(&made.reference, made.dataset, ".", H5R_OBJECT, -1), "refer to dimension", name);
  if (dim == Dim::component) name_components(made);
  return made;
}

void FileWriter::name_components(const Scale& scale) {
  std::vector<const char*> names;
  for (const std::string& name : layout_.component_names) names.push_back(name.c_str());
  if (!names.empty())
    check(H5Dwrite(scale.dataset, string_type_, H5S_ALL, H5S_ALL, H5P_DEFAULT, names.data()),
          "write component names");
  text(scale.dataset, "long_name", "name of the reward component");
  const std::uint64_t checksum = names_checksum(layout_.component_names);
  attribute(scale.dataset, kChecksum, H5T_STD_U64LE, &checksum, scalar_);
}

void FileWriter::attach(hid_t dataset, std::span<const Dim> axes) {
  hobj_ref_t self = 0;
  check(H5Rcreate(&self, dataset, ".", H5R_OBJECT, -1), "refer to column");
  std::vector<hvl_t> lists;
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    Scale& used = scale(axes[axis]);
    lists.push_back({1, &used.reference});
    used.users.push_back({self, std::int32_t(axis)});
  }
  attribute(dataset, "DIMENSION_LIST", reference_list_type_, lists.data(),
            axes.size() == 1 ? one_ : two_);
}

Handle FileWriter::define(const ColumnView& view, Values values) {
  const Column& c = view.column;
  const std::array<Dim, 2> axes{c.rows, Dim::component};
  const std::array<hsize_t, 2> lengths{layout_.extents[index(c.rows)],
                                       layout_.extents[index(Dim::component)]};
  const int rank = c.by_component ? 2 : 1;
  Handle matrix_space;
  if (rank == 2) matrix_space = Handle(H5Screate_simple(2, lengths.data(), nullptr), "make space");
  const hid_t space = rank == 2 ? hid_t(matrix_space) : hid_t(scale(c.rows).space);
  Handle dataset(H5Dcreate2(table(c.table), c.name, file_type(view.type), space, H5P_DEFAULT,
                            dataset_list_, H5P_DEFAULT),
                 "create column", c.name);
  attach(dataset, std::span(axes).first(std::size_t(rank)));
  text(dataset, "long_name", c.meaning);
  text(dataset, "units", c.unit);
  if (c.counts) text(dataset, "sample_dimension", kDimensions[index(*c.counts)].name);
  if (c.flags != nullptr) {
    const auto count = std::size_t(codes_of(c));
    attribute(dataset, "flag_values", file_type(view.type), codes_as(view.type, count).data(),
              simple_space(count));
    text(dataset, "flag_meanings", c.flags);
  }
  const std::uint64_t checksum = values == Values::here ? checksum64(view.bytes) : 0;
  attribute(dataset, kChecksum, H5T_STD_U64LE, &checksum, scalar_);
  add_segments(dataset, width_of(view.type) * lengths[0] * (rank == 2 ? lengths[1] : 1));
  if (values == Values::here) write_segments(dataset, segment_checksums(view.bytes));
  return dataset;
}

void FileWriter::finish() {
  for (const auto& [dim, scale] : scales_)
    attribute(scale.dataset, "REFERENCE_LIST", back_reference_type_, scale.users.data(),
              simple_space(scale.users.size()));
}

Handle create_file(const char* name, hid_t access) {
  const Handle creation(H5Pcreate(H5P_FILE_CREATE), "make file properties");
  check(H5Pset_obj_track_times(creation, false), "leave out time stamps");
  check(H5Pset_link_creation_order(creation, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED),
        "track order");
  // The root's two dozen attributes stay in compact form; the dense form needs a heap and two
  // B-trees.
  check(H5Pset_attr_phase_change(creation, 64, 32), "keep attributes compact");
  return Handle(H5Fcreate(name, H5F_ACC_TRUNC, creation, access), "create");
}

}  // namespace

Handle file_properties() {
  Handle access(H5Pcreate(H5P_FILE_ACCESS), "make file properties");
  check(H5Pset_libver_bounds(access, H5F_LIBVER_V18, H5F_LIBVER_V18), "choose file format");
#if H5_VERSION_GE(1, 10, 7)
  // No locks are needed, because published files never change and a partial file has one writer. On
  // file systems without locks they would fail.
  check(H5Pset_file_locking(access, false, true), "leave out file locks");
#endif
  return access;
}

std::string path_of(const Column& column) {
  return fmt::format("{}/{}", column.table, column.name);
}

hid_t file_type(ElementType type) {
  switch (type) {
    case ElementType::i8: return H5T_STD_I8LE;
    case ElementType::u8: return H5T_STD_U8LE;
    case ElementType::i32: return H5T_STD_I32LE;
    case ElementType::u32: return H5T_STD_U32LE;
    case ElementType::u64: return H5T_STD_U64LE;
    case ElementType::i64: return H5T_STD_I64LE;
    case ElementType::f32: return H5T_IEEE_F32LE;
    case ElementType::f64: return H5T_IEEE_F64LE;
  }
  throw FileFault("unknown element type");
}

std::uint64_t names_checksum(std::span<const std::string> names) {
  std::string joined;
  for (const std::string& name : names) (joined += name) += '\0';
  return checksum64(joined);
}

Extents extents_of(std::span<const ColumnView> columns, std::size_t components) {
  Extents extents{};
  std::array<bool, kDims> seen{};
  extents[index(Dim::component)] = components;
  for (const ColumnView& view : columns) {
    if (view.column.by_component) continue;
    const std::size_t dim = index(view.column.rows);
    if (std::exchange(seen[dim], true) && extents[dim] != view.elements)
      throw FileFault(fmt::format("{} differs in length from its table", path_of(view.column)));
    extents[dim] = view.elements;
  }
  for (const ColumnView& view : columns)
    if (view.column.by_component && view.elements != extents[index(view.column.rows)] * components)
      throw FileFault(
          fmt::format("the size of {} is not rows times components", path_of(view.column)));
  return extents;
}

void write_tables(const std::filesystem::path& path, std::span<const ColumnView> columns,
                  const Layout& layout, Values values) {
  // a link would lead to another file
  if (std::error_code ignored; is_link(path)) std::filesystem::remove(path, ignored);
  const Handle access = file_properties();
  // The file is built in memory and written at the close, so that a full disk is noticed when HDF5
  // has nothing else to do; HDF5 does not survive failed writes of its metadata. This is as fast as
  // plain writes on a local disk, and makes one call to a network file system instead of one per
  // column.
  std::size_t room = 1 << 15;
  if (values == Values::here)
    for (const ColumnView& view : columns) room += view.bytes.size();
  check(H5Pset_fapl_core(access, room, true), "choose memory driver");
  Handle file = create_file(path.c_str(), access);
  {
    FileWriter writer(file, layout);
    for (const ColumnView& view : columns) {
      const bool write = values == Values::here && view.elements > 0;
      const Handle dataset = writer.define(view, values);
      if (write)
        check(H5Dwrite(dataset, file_type(view.type), H5S_ALL, H5S_ALL, H5P_DEFAULT,
                       view.bytes.data()),
              "write", view.column.name);
    }
    writer.finish();
  }
  file.close("write");
}

Handle open_column(hid_t file, const Column& column) {
  return Handle(H5Dopen2(file, path_of(column).c_str(), H5P_DEFAULT), "open column",
                path_of(column));
}

std::span<const std::byte> stored_bytes(hid_t dataset, std::span<const std::byte> file,
                                        const std::string& name) {
  const haddr_t offset = H5Dget_offset(dataset);
  const std::uint64_t length = H5Dget_storage_size(dataset);
  if (offset == HADDR_UNDEF) return {};  // an empty column has no storage
  if (offset > file.size() || length > file.size() - offset)
    throw FileFault(fmt::format("{} extends past the end of the file", name));
  return file.subspan(offset, length);
}

void write_checksum(hid_t dataset, std::uint64_t checksum) {
  const Handle attribute(H5Aopen(dataset, kChecksum, H5P_DEFAULT), "open attribute", kChecksum);
  check(H5Awrite(attribute, H5T_STD_U64LE, &checksum), "write attribute", kChecksum);
}

}  // namespace rollcall::io
