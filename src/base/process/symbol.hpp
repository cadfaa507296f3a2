// Names for code addresses of this process, including functions without external linkage.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace rollcall {

/// Reads the symbol tables of the mapped files, since dladdr() knows exported names only. Takes no
/// lock that another thread could hold. The files stay mapped as long as this object exists.
class Symbols {
 public:
  Symbols();
  ~Symbols();
  Symbols(const Symbols&) = delete;
  Symbols& operator=(const Symbols&) = delete;
  /// For example "rollcall::run::Update::on_update()", or "libc.so.6+0x8df3" if no function is
  /// known there.
  std::string name(std::uintptr_t address);

 private:
  struct Mapping {
    std::uintptr_t begin, end;
    std::uint64_t offset;  ///< where `begin` is in the file
    std::string path;
  };
  class Module;
  std::vector<Mapping> mappings_;
  std::map<std::string, std::unique_ptr<Module>> modules_;
};

/// A demangled name in short form, without arguments, template arguments and the mark of unnamed
/// namespaces.
std::string short_name(std::string_view demangled);

}  // namespace rollcall
