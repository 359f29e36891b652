# SPDX-License-Identifier: Apache-2.0
# The page's modules as one script, so that a single hash in the page's policy allows it:
#   cmake -DFOLDER=render/page -DOUT=page.js -P bundle.cmake
# A module becomes a function that is called at once; what it exports is an object with its name. order.txt says which
# come first: a module after those that it imports.
cmake_minimum_required(VERSION 3.20)
file(STRINGS ${FOLDER}/order.txt modules)
set(bundle "\"use strict\";\n")
foreach(module IN LISTS modules)
  file(READ ${FOLDER}/${module} text)
  get_filename_component(name ${module} NAME_WE)
  string(REGEX MATCHALL "\nexport (async )?[a-z]+ [A-Za-z0-9_]+" exports "${text}")
  set(names "")
  foreach(export IN LISTS exports)
    string(REGEX REPLACE ".* " "" export "${export}")
    string(APPEND names "${export}, ")
  endforeach()
  string(REGEX REPLACE "\nimport ({[^}]*}) from \"./([a-z_]+).js\"" "\nconst \\1 = module_\\2" text "${text}")
  string(REGEX REPLACE "\nexport " "\n" text "${text}")
  string(APPEND bundle "const module_${name} = (() => {\n${text}\nreturn { ${names}};\n})();\n")
endforeach()
file(WRITE ${OUT} "${bundle}")
