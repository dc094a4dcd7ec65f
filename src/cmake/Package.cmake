# The installed package: find_package(attnscope) gives attnscope::<module>.
include(CMakePackageConfigHelpers)
set(package_folder lib/cmake/attnscope)
configure_package_config_file(${PROJECT_SOURCE_DIR}/src/cmake/attnscopeConfig.cmake.in
  ${PROJECT_BINARY_DIR}/attnscopeConfig.cmake INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/attnscopeConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/attnscopeConfig.cmake
  ${PROJECT_BINARY_DIR}/attnscopeConfigVersion.cmake ${PROJECT_SOURCE_DIR}/src/cmake/Torch.cmake
  DESTINATION ${package_folder})
install(EXPORT attnscopeTargets NAMESPACE attnscope:: DESTINATION ${package_folder})
