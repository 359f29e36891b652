# SPDX-License-Identifier: Apache-2.0
# The CUDA toolkit, if it is there: GM_HAVE_CUDA. Only kernels/*.cu, kernels/blas.c and replay/cuda need it, and no
# program needs a driver to start: the runtime is linked in, cuBLAS and the driver are looked up when they are used.
set(GM_CUDA AUTO CACHE STRING "build the CUDA back ends: AUTO (if there is a toolkit), ON, OFF")
set_property(CACHE GM_CUDA PROPERTY STRINGS AUTO ON OFF)
set(GM_CUDA_ARCHS "75;80;90" CACHE STRING "compute capabilities to compile kernels for; the last one as PTX, too")

set(GM_HAVE_CUDA FALSE)
if(NOT GM_CUDA STREQUAL "OFF")
  find_package(CUDAToolkit 12.5 QUIET)
  find_path(GM_CUBLAS_INCLUDE cublas_v2.h HINTS ${CUDAToolkit_INCLUDE_DIRS} NO_DEFAULT_PATH)
  if(CUDAToolkit_FOUND AND CUDAToolkit_NVCC_EXECUTABLE AND TARGET CUDA::cudart_static AND GM_CUBLAS_INCLUDE)
    set(GM_HAVE_CUDA TRUE)
    message(STATUS "CUDA: toolkit ${CUDAToolkit_VERSION}, kernels for ${GM_CUDA_ARCHS}")
  elseif(GM_CUDA STREQUAL "ON")
    message(FATAL_ERROR "GM_CUDA is ON, and there is no CUDA toolkit (12.5 or newer: nvcc, cudart, cuBLAS headers)")
  else()
    message(STATUS "CUDA: no toolkit; gmreplay is built without it")
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
