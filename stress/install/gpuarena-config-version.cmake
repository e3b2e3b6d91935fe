# The version is the header's. A request is met by its own version and later ones that keep its source working: of 0.x
# those of the same minor number, from 1.0 on those of the same major number.
file(STRINGS "${CMAKE_CURRENT_LIST_DIR}/../../../include/gpuarena.h" gpuarena_line
  REGEX "^#define GPUARENA_VERSION_TEXT " LIMIT_COUNT 1)
string(REGEX REPLACE "^.*\"(.*)\".*$" "\\1" PACKAGE_VERSION "${gpuarena_line}")

set(PACKAGE_VERSION_COMPATIBLE FALSE)
set(PACKAGE_VERSION_EXACT FALSE)
if(PACKAGE_VERSION MATCHES "^([0-9]+)\\.([0-9]+)\\.")
  set(gpuarena_same FALSE)
  if(PACKAGE_FIND_VERSION_MAJOR EQUAL CMAKE_MATCH_1)
    if(CMAKE_MATCH_1 GREATER 0 OR PACKAGE_FIND_VERSION_COUNT LESS 2 OR PACKAGE_FIND_VERSION_MINOR EQUAL CMAKE_MATCH_2)
      set(gpuarena_same TRUE)
    endif()
  endif()
  if(gpuarena_same AND NOT PACKAGE_VERSION VERSION_LESS PACKAGE_FIND_VERSION)
    set(PACKAGE_VERSION_COMPATIBLE TRUE)
  endif()
  if(PACKAGE_VERSION VERSION_EQUAL PACKAGE_FIND_VERSION)
    set(PACKAGE_VERSION_EXACT TRUE)
  endif()
endif()
