// What program and shared library must have in common: a class is laid out by the compiler that
// read its header.
#pragma once

namespace rollcall::method {

inline constexpr char kBuild[] = "rollcall " ROLLCALL_VERSION ", GCC " __VERSION__;
/// const char* (), the library's kBuild
inline constexpr const char* kBuildSymbol = "rollcall_objective_build";
inline constexpr const char* kEntrySymbol = "rollcall_objective";  ///< const Library* ()

}  // namespace rollcall::method
