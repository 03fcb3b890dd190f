# For what is never hot.
set(REFIT_COLD_OPTIMISATION $<$<CONFIG:Release>:-O1>)

# refit_precompiled(NAME HEADERS header... [OPTIONS option...] [LINK lib...])
#
# Compiles headers of others once for all targets that say `REUSE_FROM NAME` and have the same options:
# a quarter of the build without. A file still includes what it uses; the build under sanitizers has
# CMAKE_DISABLE_PRECOMPILE_HEADERS, so that it finds what only compiles by them.
function(refit_precompiled name)
  cmake_parse_arguments(ARG "" "" "HEADERS;OPTIONS;LINK" ${ARGN})
  set(source ${CMAKE_BINARY_DIR}/precompiled.cc)
  if(NOT EXISTS ${source})
    file(WRITE ${source} "// Nothing here: the targets that compile it exist for their headers.\n")
  endif()
  add_library(${name} OBJECT ${source})
  target_link_libraries(${name} PRIVATE ${ARG_LINK} refit_warnings)
  target_compile_options(${name} PRIVATE ${ARG_OPTIONS})
  target_precompile_headers(${name} PRIVATE ${ARG_HEADERS})
endfunction()
