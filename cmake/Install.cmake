# cmake --install: the program, the libraries with their headers and package file, job templates and scripts. Included last, when all targets are known.
include(CMakePackageConfigHelpers)
set(_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/rollcall)
get_property(_libraries GLOBAL PROPERTY ROLLCALL_LIBRARIES)

set_target_properties(rollcall_toolchain PROPERTIES EXPORT_NAME toolchain)
set_target_properties(rollcall_xxhash PROPERTIES EXPORT_NAME xxhash)
set_target_properties(rollcall_pcre2 PROPERTIES EXPORT_NAME pcre2)
set_target_properties(rollcall_utf8proc PROPERTIES EXPORT_NAME utf8proc)
set_target_properties(rollcall_seccomp PROPERTIES EXPORT_NAME seccomp)
set_target_properties(rollcall_mpfi PROPERTIES EXPORT_NAME mpfi)
install(TARGETS rollcall_toolchain rollcall_xxhash rollcall_pcre2 rollcall_utf8proc rollcall_mpfi rollcall_seccomp EXPORT rollcallTargets)
if(_libraries)
  install(TARGETS ${_libraries} EXPORT rollcallTargets
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
    FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/rollcall)
endif()
if(TARGET rollcall)
  # LibTorch stays where it was found; CMake would leave out a folder inside the source tree, as .deps/libtorch is.
  get_filename_component(_torch_lib "${RollcallTorch_CPU_LIBRARY}" DIRECTORY)
  set_target_properties(rollcall PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
  set_target_properties(rollcall_objective_library PROPERTIES INSTALL_RPATH "${_torch_lib}" INSTALL_RPATH_USE_LINK_PATH ON)
  # The component `program` is what scripts/package archives: no headers and no static libraries.
  install(TARGETS rollcall RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
  install(TARGETS rollcall_objective_library LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/rollcall COMPONENT program)
endif()

# The package file repeats the dependencies at the versions that were found here, and looks for them where they were.
get_filename_component(ROLLCALL_TORCH_ROOT "${RollcallTorch_INCLUDE_DIR}" DIRECTORY)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/rollcallConfig.cmake.in ${PROJECT_BINARY_DIR}/rollcallConfig.cmake
  INSTALL_DESTINATION ${_package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/rollcallConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(EXPORT rollcallTargets NAMESPACE rollcall:: DESTINATION ${_package_dir})
install(FILES ${PROJECT_BINARY_DIR}/rollcallConfig.cmake ${PROJECT_BINARY_DIR}/rollcallConfigVersion.cmake
  ${CMAKE_CURRENT_LIST_DIR}/FindRollcallTorch.cmake ${CMAKE_CURRENT_LIST_DIR}/ImportedTargets.cmake DESTINATION ${_package_dir})

# A run must not need the source tree.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs ${PROJECT_SOURCE_DIR}/jobs ${PROJECT_SOURCE_DIR}/scripts DESTINATION ${CMAKE_INSTALL_DATADIR}/rollcall USE_SOURCE_PERMISSIONS
  COMPONENT program PATTERN __pycache__ EXCLUDE)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/packaging/python DESTINATION ${CMAKE_INSTALL_DATADIR}/rollcall/packaging COMPONENT program PATTERN __pycache__ EXCLUDE)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program)
