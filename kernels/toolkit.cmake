# SPDX-License-Identifier: Apache-2.0
# The CUDA toolkit, if it is there: GM_HAVE_CUDA. Only kernels/*.cu, kernels/blas.c and replay/cuda need it, and no
# program needs a driver to start: the runtime is linked in, cuBLAS and the driver are looked up when they are used.
set(GM_CUDA AUTO CACHE STRING "build the CUDA back ends: AUTO (if there is a toolkit), ON, OFF")
set_property(CACHE GM_CUDA PROPERTY STRINGS AUTO ON OFF)
set(GM_CUDA_ARCHS "75;80;90" CACHE STRING "compute capabilities to compile kernels for; the last one as PTX, too")

set(GM_HAVE_CUDA FALSE)
if(GM_CUDA)
  find_package(CUDAToolkit 12.5 QUIET)
  find_path(GM_CUBLAS_INCLUDE cublas_v2.h HINTS ${CUDAToolkit_INCLUDE_DIRS} NO_DEFAULT_PATH)
  set(missing "")
  if(NOT CUDAToolkit_FOUND)
    set(missing "a toolkit, 12.5 or newer")
  elseif(NOT CUDAToolkit_NVCC_EXECUTABLE)
    set(missing "nvcc")
  elseif(NOT TARGET CUDA::cudart_static)
    set(missing "the static runtime")
  elseif(NOT GM_CUBLAS_INCLUDE)
    set(missing "the headers of cuBLAS")
  endif()
  if(NOT missing)
    set(GM_HAVE_CUDA TRUE)
    message(STATUS "CUDA: toolkit ${CUDAToolkit_VERSION}, kernels for ${GM_CUDA_ARCHS}")
  elseif(GM_CUDA STREQUAL "AUTO")
    message(STATUS "CUDA: ${missing} not found; gmreplay is built without it")
  else()
    message(FATAL_ERROR "GM_CUDA is ${GM_CUDA}, and this was not found: ${missing}")
  endif()
endif()

# What nvcc is called with, but for architectures. Its host code needs nothing of the C++ library: programs are linked
# as C.
set(GM_NVCC_FLAGS -std=c++17 -O3 -I${CMAKE_SOURCE_DIR}
  -Xcompiler=-Wall,-Wextra,-fno-exceptions,-fno-rtti,-fno-threadsafe-statics)
set(GM_NVCC_STRICT -Werror=all-warnings -Xcompiler=-Werror)

# gm_add_cu(VARIABLE files...): compiles them, and puts the objects into VARIABLE.
function(gm_add_cu variable)
  set(codes "")
  foreach(arch ${GM_CUDA_ARCHS})
    list(APPEND codes -gencode=arch=compute_${arch},code=sm_${arch})
  endforeach()
  list(GET GM_CUDA_ARCHS -1 last)
  list(APPEND codes -gencode=arch=compute_${last},code=compute_${last})
  set(strict "")
  if(GM_WERROR)
    set(strict ${GM_NVCC_STRICT})
  endif()
  set(objects "")
  foreach(source ${ARGN})
    set(object ${CMAKE_CURRENT_BINARY_DIR}/${source}.o)
    add_custom_command(OUTPUT ${object}
      COMMAND ${CUDAToolkit_NVCC_EXECUTABLE} ${GM_NVCC_FLAGS} ${strict} ${codes} -MD -MF ${object}.d
        -c ${CMAKE_CURRENT_SOURCE_DIR}/${source} -o ${object}
      DEPENDS ${source} DEPFILE ${object}.d VERBATIM)
    list(APPEND objects ${object})
  endforeach()
  set_source_files_properties(${objects} PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
  set(${variable} ${objects} PARENT_SCOPE)
endfunction()
