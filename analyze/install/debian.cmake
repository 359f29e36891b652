# The last touches of a Debian package, in its staged tree: Debian's way with manuals, changelogs and licences.
set(share ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/usr/share)
file(GLOB_RECURSE packed ${share}/man/*.[1-8])
execute_process(
  COMMAND gzip -9n ${packed} ${share}/doc/gmanalyze/changelog
  COMMAND_ERROR_IS_FATAL ANY)
file(MAKE_DIRECTORY ${share}/lintian/overrides)
file(COPY_FILE ${CMAKE_CURRENT_LIST_DIR}/lintian-overrides ${share}/lintian/overrides/gmanalyze)
file(REMOVE ${share}/doc/gmanalyze/LICENSE) # base-files has it
