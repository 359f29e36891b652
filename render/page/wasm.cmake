# page.wasm: every source of the libraries that the core needs, compiled once more by clang for wasm32.
set(missing "")
find_program(GM_WASM_CLANG NAMES clang-14 clang)
if(GM_WASM_CLANG)
  file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/probe.c "#include <stdlib.h>\nvoid *get(void) { return malloc(1); }\n")
  execute_process(
    COMMAND ${GM_WASM_CLANG} --target=wasm32-wasi -O1 -mexec-model=reactor -Wl,--export=get probe.c -o probe.wasm
    WORKING_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR} RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
endif()
if(NOT GM_WASM_CLANG OR failed)
  list(APPEND missing "clang with lld, wasi-libc and libclang-rt-*-dev-wasm32")
endif()
if(NOT EXISTS ${GM_PAGE_SOURCES}/zlib/inflate.c OR NOT EXISTS ${GM_PAGE_SOURCES}/zstd/lib/zstd.h)
  list(APPEND missing "the sources of zlib and zstd in ${GM_PAGE_SOURCES} (render/page/sources.sh)")
endif()
if(missing)
  list(JOIN missing ", and " missing)
  if(GM_PAGE STREQUAL "AUTO")
    message(STATUS "The page is left out: there is no ${missing}")
    return()
  endif()
  message(FATAL_ERROR "The page needs ${missing}")
endif()

set(flags --target=wasm32-wasi -std=gnu17 -O3 -msimd128 -DNDEBUG -ffunction-sections -fdata-sections -fvisibility=hidden)
set(ours -I${CMAKE_CURRENT_SOURCE_DIR}/core/wasi -I${CMAKE_SOURCE_DIR} -I${CMAKE_BINARY_DIR}/generated
  -D_GNU_SOURCE -D_WASI_EMULATED_GETPID -DGM_VERSION="${PROJECT_VERSION}" -Wall -Wextra $<$<BOOL:${GM_WERROR}>:-Werror>
  -I${GM_PAGE_SOURCES}/zlib -I${GM_PAGE_SOURCES}/zstd/lib)
set(theirs -w -DZSTD_DISABLE_ASM -DZSTD_LEGACY_SUPPORT=0 -DDYNAMIC_BMI2=0 -DNO_GZIP)

set(objects "")
# gm_wasm_objects(FLAGS... SOURCES files...)
function(gm_wasm_objects)
  cmake_parse_arguments(ARG "" "" "FLAGS;SOURCES;DEPENDS" ${ARGN})
  foreach(source ${ARG_SOURCES})
    file(RELATIVE_PATH name ${CMAKE_SOURCE_DIR} ${source})
    string(REPLACE "../" "" name ${name})
    set(object ${CMAKE_CURRENT_BINARY_DIR}/wasm/${name}.o)
    get_filename_component(folder ${object} DIRECTORY)
    file(MAKE_DIRECTORY ${folder})
    add_custom_command(
      OUTPUT ${object}
      COMMAND ${CMAKE_C_COMPILER_LAUNCHER} ${GM_WASM_CLANG} ${flags} ${ARG_FLAGS} -MD -MF ${object}.d -c ${source} -o
              ${object}
      DEPENDS ${source} ${ARG_DEPENDS}
      DEPFILE ${object}.d
      COMMENT "Building ${name} for the page"
      COMMAND_EXPAND_LISTS VERBATIM)
    list(APPEND objects ${object})
  endforeach()
  set(objects ${objects} PARENT_SCOPE)
endfunction()

# What a page has no use for: files, threads' helpers, what writes .gmtrace.
set(left_out beside.c filling.c hidden.c new_file.c machine.c sources.c source_file.c gmtrace_section.c gmtrace_write)
set(sources "")
foreach(library gm_base gm_snapshot gm_formats gm_allocator gm_report gm_profile gm_state gm_timeline gm_compare gm_document gm_diagnose
        gm_model gm_regenerate gm_verify gm_whatif gm_trials gm_judge gm_page_core)
  get_target_property(files ${library} SOURCES)
  get_target_property(folder ${library} SOURCE_DIR)
  foreach(file ${files})
    if(NOT IS_ABSOLUTE ${file})
      set(file ${folder}/${file})
    endif()
    if(file MATCHES "\\.c$")
      list(APPEND sources ${file})
    endif()
  endforeach()
endforeach()
foreach(word ${left_out} core/seed.c)
  string(REPLACE "." "\\." word ${word})
  list(FILTER sources EXCLUDE REGEX "/${word}")
endforeach()
list(APPEND sources ${CMAKE_CURRENT_SOURCE_DIR}/core/wasi/platform.c ${CMAKE_SOURCE_DIR}/analyze/run/run_names.c)
set(once ${sources}) # what runs once in a report: its size is what counts
list(FILTER once INCLUDE REGEX "/analyze/(compare|diagnose/(find_(allocator|cache|file|healthy|odd|oom|peak|settings|streams)|headline|ignore|library_options|role_advice|to_do)|document|profile|report|timeline/dims|timeline/join)")
list(REMOVE_ITEM sources ${once})
gm_wasm_objects(FLAGS ${ours} SOURCES ${sources} DEPENDS ${rules_inc} ${role_rules_inc})
gm_wasm_objects(FLAGS ${ours} -Os SOURCES ${once})

set(decoders adler32 crc32 inffast inflate inftrees zutil)
list(TRANSFORM decoders REPLACE "(.+)" "${GM_PAGE_SOURCES}/zlib/\\1.c")
foreach(file common/debug common/entropy_common common/error_private common/fse_decompress common/xxhash common/zstd_common
        decompress/huf_decompress decompress/zstd_ddict decompress/zstd_decompress decompress/zstd_decompress_block)
  list(APPEND decoders ${GM_PAGE_SOURCES}/zstd/lib/${file}.c)
endforeach()
gm_wasm_objects(FLAGS ${theirs} SOURCES ${decoders})

set(wasm ${CMAKE_CURRENT_BINARY_DIR}/page.wasm)
add_custom_command(
  OUTPUT ${wasm}
  COMMAND ${GM_WASM_CLANG} --target=wasm32-wasi -mexec-model=reactor -O3 -Wl,--gc-sections,--strip-all -Wl,--max-memory=4294967296
          -Wl,-z,stack-size=1048576 -o ${wasm} ${objects} -lwasi-emulated-getpid
  DEPENDS ${objects}
  COMMENT "Linking page.wasm"
  COMMAND_EXPAND_LISTS VERBATIM)
add_custom_target(page_wasm DEPENDS ${wasm})

# memory.html: all of it in one file.
add_executable(page_pack pack.c)
target_link_libraries(page_pack PRIVATE gm_base ZLIB::ZLIB)
set_target_properties(page_pack PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS order.txt)
file(STRINGS order.txt modules)
list(TRANSFORM modules PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
set(template ${CMAKE_CURRENT_BINARY_DIR}/template.html)
add_custom_command(
  OUTPUT ${template}
  COMMAND ${CMAKE_COMMAND} -DFOLDER=${CMAKE_CURRENT_SOURCE_DIR} -DOUT=${CMAKE_CURRENT_BINARY_DIR}/page.js -P
          ${CMAKE_CURRENT_SOURCE_DIR}/bundle.cmake
  COMMAND page_pack ${CMAKE_CURRENT_SOURCE_DIR}/index.html ${CMAKE_CURRENT_SOURCE_DIR}/page.css
          ${CMAKE_CURRENT_BINARY_DIR}/page.js ${CMAKE_CURRENT_SOURCE_DIR}/worker.js ${wasm} ${template}
  DEPENDS page_pack index.html page.css worker.js order.txt bundle.cmake ${modules} ${wasm}
  COMMENT "Packing the page"
  VERBATIM)
enable_language(ASM)
set(GM_HAVE_PAGE TRUE CACHE INTERNAL "whether the page is built")
