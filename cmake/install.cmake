# make install: library, headers, programs, manuals, completion, umbel.pc and
# the CMake package.
include(CMakePackageConfigHelpers)

# Relative, so that it is right wherever the tree is installed to.
file(RELATIVE_PATH UMBEL_PC_UP /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" UMBEL_PC_UP "${UMBEL_PC_UP}")
configure_file(cmake/umbel.pc.in umbel.pc @ONLY)
configure_file(cmake/umbel-fetch.pc.in umbel-fetch.pc @ONLY)
configure_package_config_file(cmake/umbel-config.cmake.in umbel-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/umbel)
write_basic_package_version_file(umbel-config-version.cmake
  COMPATIBILITY SameMinorVersion)

# Installs examples/DIRECTORY/PROGRAM.* as documents. The prefix of the unit is known only
# when they are installed: cmake --install may change it.
function(umbel_install_units directory program)
  install(DIRECTORY examples/${directory}
    DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples
    FILES_MATCHING PATTERN "${program}.*")
  install(CODE "
    set(UMBEL_UNIT \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DOCDIR}/examples/${directory}/${program}.service\")
    file(READ \"\${UMBEL_UNIT}\" UMBEL_UNIT_TEXT)
    string(REPLACE \"ExecStart=/usr/bin/\" \"ExecStart=\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}/\"
      UMBEL_UNIT_TEXT \"\${UMBEL_UNIT_TEXT}\")
    file(WRITE \"\${UMBEL_UNIT}\" \"\${UMBEL_UNIT_TEXT}\")")
endfunction()

install(TARGETS umbel_cli umbel_reproduce umbel_bench umbel_stopset
  DESTINATION ${CMAKE_INSTALL_BINDIR})
umbel_install_units(systemd umbel-pull)
umbel_install_units(systemd umbel-watch)
if(TARGET umbel_clearinghouse)
  install(TARGETS umbel_clearinghouse umbel_dccproc DESTINATION ${CMAKE_INSTALL_BINDIR})
  if(TARGET umbel_milter)
    install(TARGETS umbel_milter DESTINATION ${CMAKE_INSTALL_BINDIR})
  endif()
  umbel_install_units(clearinghouse umbel-clearinghouse)
endif()
if(TARGET umbel_serve)
  install(TARGETS umbel_serve DESTINATION ${CMAKE_INSTALL_BINDIR})
  umbel_install_units(serve umbel-serve)
endif()
if(TARGET umbel_packets)
  install(TARGETS umbel_packets DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
set_target_properties(umbel_shared PROPERTIES EXPORT_NAME umbel)
set_target_properties(umbel_fetch_shared PROPERTIES EXPORT_NAME umbel-fetch)
install(TARGETS umbel_shared umbel_fetch_shared EXPORT umbel-targets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
# Redis loads only modules that it may execute; Debian's cmake installs libraries
# without that permission. Tests install the component alone.
install(TARGETS umbel_module DESTINATION ${CMAKE_INSTALL_LIBDIR}/umbel
  PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
  WORLD_READ WORLD_EXECUTE COMPONENT module)
install(TARGETS umbel_static umbel_fetch_static DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT umbel-targets NAMESPACE umbel::
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/umbel)
install(DIRECTORY include/umbel DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h")
install(FILES ${CMAKE_BINARY_DIR}/umbel.pc ${CMAKE_BINARY_DIR}/umbel-fetch.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(FILES ${CMAKE_BINARY_DIR}/umbel-config.cmake
  ${CMAKE_BINARY_DIR}/umbel-config-version.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/umbel)
install(DIRECTORY ${CMAKE_BINARY_DIR}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}
  FILES_MATCHING PATTERN "*.[1358]")
install(FILES tools/completion/umbel.bash RENAME umbel
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES tools/completion/_umbel
  DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES tools/completion/umbel.fish
  DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
