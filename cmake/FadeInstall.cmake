# The install tree, and the package that `cpack` makes of it; each room installs its own libraries. The tree can be moved: everything finds its neighbours by its own place.
#   bin/fadeprobe   lib/libfade.so, libfadecheck.so, libfadegpu*.so, libfadeinstr-<LLVM>.so   lib/fade/ (handlers)   include/fade/
#   lib/glibc-hwcaps/*/libfadegpu-core.so (x86-64)
#   lib/cmake/Fade/ (find_package)   share/man, share/bash-completion, share/zsh, share/doc/fade   share/fade/examples
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS fade_headers EXPORT FadeTargets)
install(EXPORT FadeTargets NAMESPACE Fade:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Fade)
configure_package_config_file(cmake/package/FadeConfig.cmake.in ${CMAKE_BINARY_DIR}/package/FadeConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Fade
  PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_BINDIR)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/package/FadeConfigVersion.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${CMAKE_BINARY_DIR}/package/FadeConfig.cmake ${CMAKE_BINARY_DIR}/package/FadeConfigVersion.cmake
  cmake/package/FadeInstrumentTarget.cmake DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Fade)

configure_file(docs/fadeprobe.1.in ${CMAKE_BINARY_DIR}/package/fadeprobe.1 @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/package/fadeprobe.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES cli/completions/fadeprobe.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
  RENAME fadeprobe)
install(FILES cli/completions/_fadeprobe DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
# Python finds it with PYTHONPATH=PREFIX/share/fade/python; scripts/wheel makes a wheel of the whole tree.
configure_file(python/fade/_version.py.in ${CMAKE_BINARY_DIR}/package/_version.py @ONLY)
install(DIRECTORY python/ DESTINATION ${CMAKE_INSTALL_DATADIR}/fade/python FILES_MATCHING PATTERN "*.py" PATTERN __pycache__ EXCLUDE)
install(FILES ${CMAKE_BINARY_DIR}/package/_version.py DESTINATION ${CMAKE_INSTALL_DATADIR}/fade/python/fade)
# Not with the documentation, which many small systems leave out.
install(DIRECTORY examples/ DESTINATION ${CMAKE_INSTALL_DATADIR}/fade/examples REGEX "/examples/CMakeLists.txt$" EXCLUDE PATTERN __pycache__ EXCLUDE)
install(FILES README.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs FILES_MATCHING PATTERN "*.md" PATTERN "*.svg" PATTERN "*.png")

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME fade)
set(CPACK_PACKAGE_CONTACT "The FADE authors <fade@example.org>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "See inside AMD GPU kernels, with or without a GPU")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# Applications bring their own HIP; disassembly uses comgr when it is there.
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "libamdhip64-5 | libamdhip64-6 | libamdhip64-7, libamd-comgr2 | libamd-comgr3, clang-19, clang-tools-19, lld-19, llvm-19, rocm-device-libs | rocm-device-libs-17")
# What compiling HIP programs needs as well.
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "libamdhip64-dev, libhsa-runtime-dev, libstdc++-12-dev | libstdc++-13-dev")
include(CPack)
