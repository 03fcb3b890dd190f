# REFIT_CUDA=AUTO|ON|OFF: whether the NCCL and CUDA transports are built. AUTO builds them if nvcc, the
# CUDA runtime and NCCL are here; ON stops if something is missing; OFF looks for nothing.
#
# Sets REFIT_CUDA_HEADERS (both libraries' headers are here: our sources compile, and run on stand-ins)
# and REFIT_CUDA_FOUND (all is here), and defines refit_cuda_headers and, if found, refit_cuda_libraries.
set(REFIT_CUDA AUTO CACHE STRING "Build the CUDA and NCCL transports: AUTO, ON or OFF")
set_property(CACHE REFIT_CUDA PROPERTY STRINGS AUTO ON OFF)
set(REFIT_CUDA_ARCHITECTURES "80;90;100" CACHE STRING "GPU generations that the kernels are compiled for")

set(REFIT_CUDA_HEADERS OFF)
set(REFIT_CUDA_FOUND OFF)
if(NOT REFIT_CUDA MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "REFIT_CUDA is '${REFIT_CUDA}'; it can be AUTO, ON or OFF")
endif()
if(REFIT_CUDA STREQUAL OFF)
  message(STATUS "CUDA and NCCL transports: off")
  return()
endif()

# The toolkit's own folders first, as PATH and the usual variables name them.
find_program(REFIT_NVCC nvcc HINTS ENV CUDA_HOME ENV CUDA_PATH ENV CUDAToolkit_ROOT PATHS /usr/local/cuda
             PATH_SUFFIXES bin)
set(cuda_roots ${CUDAToolkit_ROOT} $ENV{CUDA_HOME} $ENV{CUDA_PATH})
if(REFIT_NVCC)
  file(REAL_PATH ${REFIT_NVCC} nvcc_path)
  cmake_path(GET nvcc_path PARENT_PATH nvcc_folder)
  cmake_path(GET nvcc_folder PARENT_PATH nvcc_root)
  list(APPEND cuda_roots ${nvcc_root})
endif()
list(APPEND cuda_roots /usr/local/cuda)
set(library_folders lib64 lib lib/x86_64-linux-gnu targets/x86_64-linux/lib targets/sbsa-linux/lib)
find_path(REFIT_CUDA_INCLUDE cuda_runtime.h HINTS ${cuda_roots}
          PATH_SUFFIXES include targets/x86_64-linux/include targets/sbsa-linux/include)
find_library(REFIT_CUDART NAMES cudart_static cudart HINTS ${cuda_roots} PATH_SUFFIXES ${library_folders})
find_path(REFIT_NCCL_INCLUDE nccl.h HINTS ENV NCCL_HOME ${cuda_roots} PATH_SUFFIXES include)
find_library(REFIT_NCCL nccl HINTS ENV NCCL_HOME ${cuda_roots} PATH_SUFFIXES ${library_folders})
mark_as_advanced(REFIT_NVCC REFIT_CUDA_INCLUDE REFIT_CUDART REFIT_NCCL_INCLUDE REFIT_NCCL)

set(missing "")
foreach(part IN ITEMS "REFIT_NVCC|nvcc" "REFIT_CUDA_INCLUDE|cuda_runtime.h" "REFIT_CUDART|the CUDA runtime"
                      "REFIT_NCCL_INCLUDE|nccl.h" "REFIT_NCCL|the NCCL library")
  string(REPLACE "|" ";" part "${part}")
  list(GET part 0 variable)
  list(GET part 1 words)
  if(NOT ${variable})
    list(APPEND missing ${words})
  endif()
endforeach()
list(JOIN missing ", " missing_words)

if(REFIT_CUDA_INCLUDE AND REFIT_NCCL_INCLUDE)
  set(REFIT_CUDA_HEADERS ON)
  add_library(refit_cuda_headers INTERFACE)
  target_include_directories(refit_cuda_headers SYSTEM INTERFACE ${REFIT_CUDA_INCLUDE} ${REFIT_NCCL_INCLUDE})
endif()
if(missing)
  if(REFIT_CUDA STREQUAL ON)
    message(FATAL_ERROR "REFIT_CUDA is ON and ${missing_words} was not found; install it, set CUDA_HOME or "
                        "NCCL_HOME, or configure with -DREFIT_CUDA=OFF")
  endif()
  message(STATUS "CUDA and NCCL transports: not built, ${missing_words} was not found")
  return()
endif()

set(REFIT_CUDA_FOUND ON)
execute_process(COMMAND ${REFIT_NVCC} --version OUTPUT_VARIABLE nvcc_words ERROR_QUIET)
string(REGEX MATCH "V[0-9.]+" nvcc_version "${nvcc_words}")
file(STRINGS ${REFIT_NCCL_INCLUDE}/nccl.h nccl_lines REGEX "define NCCL_(MAJOR|MINOR|PATCH) ")
string(REGEX REPLACE "[^0-9;]" "" nccl_version "${nccl_lines}")
list(JOIN nccl_version "." nccl_version)
list(JOIN REFIT_CUDA_ARCHITECTURES ", sm_" architecture_words)
message(STATUS "CUDA and NCCL transports: built with nvcc ${nvcc_version} (${REFIT_NVCC}) for "
               "sm_${architecture_words}, NCCL ${nccl_version} (${REFIT_NCCL})")

find_package(Threads REQUIRED)
add_library(refit_cuda_libraries INTERFACE)
target_link_libraries(refit_cuda_libraries INTERFACE ${REFIT_NCCL} ${REFIT_CUDART} Threads::Threads
                                                     ${CMAKE_DL_LIBS} rt)

# refit_cuda_object(OUTPUT SOURCE)
#
# Compiles one .cu file and sets OUTPUT to the object. nvcc is called as a plain tool: with CUDA as a
# language of the project every program that links this object would need it as link language, and a
# toolkit that CMake's own test refuses could not be skipped in AUTO.
function(refit_cuda_object output source)
  set(codes "")
  foreach(architecture IN LISTS REFIT_CUDA_ARCHITECTURES)
    list(APPEND codes -gencode arch=compute_${architecture},code=sm_${architecture})
    set(newest ${architecture})
  endforeach()
  # Later GPUs translate the newest one's intermediate code.
  list(APPEND codes -gencode arch=compute_${newest},code=compute_${newest})
  cmake_path(ABSOLUTE_PATH source OUTPUT_VARIABLE path)
  cmake_path(GET source FILENAME name)
  set(object ${CMAKE_CURRENT_BINARY_DIR}/${name}.o)
  add_custom_command(
    OUTPUT ${object}
    COMMAND ${REFIT_NVCC} -std=c++20 -O3 -ccbin ${CMAKE_CXX_COMPILER} ${codes} -I${PROJECT_SOURCE_DIR}
            -Xcompiler -fPIC,-Wall,-Wextra -MD -MF ${object}.d -MT ${object} -c ${path} -o ${object}
    DEPENDS ${path}
    DEPFILE ${object}.d
    COMMENT "Compiling ${name} with nvcc"
    VERBATIM)
  set(${output} ${object} PARENT_SCOPE)
endfunction()
