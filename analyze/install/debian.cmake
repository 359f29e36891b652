# The last touches of a Debian package, in its staged tree: Debian's way with manuals, changelogs and licences.
file(GLOB_RECURSE packed ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/usr/share/man/*.[1-8])
execute_process(
  COMMAND gzip -9n ${packed} ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/usr/share/doc/gmanalyze/changelog
  COMMAND_ERROR_IS_FATAL ANY)
file(REMOVE ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/usr/share/doc/gmanalyze/LICENSE) # base-files has it
