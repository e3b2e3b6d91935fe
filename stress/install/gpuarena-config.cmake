# find_package(gpuarena): the target gpuarena::gpuarena, which is the header and threads.
# find_package(gpuarena COMPONENTS cuda): also gpuarena::cuda, with the CUDA runtime (CMake 3.17 or later).
# It must not build anything, nor choose how the header is configured.
include(CMakeFindDependencyMacro)
find_dependency(Threads)

get_filename_component(gpuarena_INCLUDE_DIR "${CMAKE_CURRENT_LIST_DIR}/../../../include" ABSOLUTE)
if(NOT TARGET gpuarena::gpuarena)
  add_library(gpuarena::gpuarena INTERFACE IMPORTED)
  set_target_properties(gpuarena::gpuarena PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${gpuarena_INCLUDE_DIR}"
    INTERFACE_LINK_LIBRARIES Threads::Threads)
endif()

foreach(component IN LISTS gpuarena_FIND_COMPONENTS)
  if(component STREQUAL "cuda")
    find_package(CUDAToolkit QUIET)
    set(gpuarena_cuda_FOUND ${CUDAToolkit_FOUND})
    if(CUDAToolkit_FOUND AND NOT TARGET gpuarena::cuda)
      add_library(gpuarena::cuda INTERFACE IMPORTED)
      set_target_properties(gpuarena::cuda PROPERTIES
        INTERFACE_LINK_LIBRARIES "gpuarena::gpuarena;CUDA::cudart")
    endif()
    set(gpuarena_obstacle "no CUDA Toolkit was found")
  else()
    set(gpuarena_${component}_FOUND FALSE)
    set(gpuarena_obstacle "there is no component ${component}, only cuda")
  endif()
  if(gpuarena_FIND_REQUIRED_${component} AND NOT gpuarena_${component}_FOUND)
    set(gpuarena_FOUND FALSE)
    set(gpuarena_NOT_FOUND_MESSAGE "gpuarena: component ${component}: ${gpuarena_obstacle}")
  endif()
endforeach()
