// The build that program and shared library must have in common. They exchange C++ classes, whose
// layout depends on the headers and the compiler.
#pragma once

namespace rollcall::method {

inline constexpr char kBuild[] = "rollcall " ROLLCALL_VERSION ", GCC " __VERSION__;
/// The name of a function const char* (), which returns the library's kBuild.
inline constexpr const char* kBuildSymbol = "rollcall_objective_build";
inline constexpr const char* kEntrySymbol = "rollcall_objective";  ///< the name of a function const
                                                                   ///< Library* ()

}  // namespace rollcall::method
