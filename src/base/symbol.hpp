// Names for addresses of this process, those of functions without external linkage too.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace rollcall {

/// Looks into the symbol tables of the files that are mapped, which dladdr() does not: it knows
/// exported names alone. Takes no lock that the rest of the process could hold. Files stay mapped
/// as long as this.
class Symbols {
 public:
  Symbols();
  ~Symbols();
  Symbols(const Symbols&) = delete;
  Symbols& operator=(const Symbols&) = delete;
  /// "rollcall::run::Update::on_update()", or "libc.so.6+0x8df3" where no function is known there.
  std::string name(std::uintptr_t address);

 private:
  struct Mapping {
    std::uintptr_t begin, end;
    std::uint64_t offset;  ///< of `begin` in the file
    std::string path;
  };
  class Module;
  std::vector<Mapping> mappings_;
  std::map<std::string, std::unique_ptr<Module>> modules_;
};

/// A demangled name as people say it: without arguments, template arguments and the mark of unnamed
/// namespaces.
std::string short_name(std::string_view demangled);

}  // namespace rollcall
