# refit_module(NAME [COLD] SOURCES a.cc b.cc [PUBLIC lib...] [PRIVATE lib...] [WITH target c.cc...])
#
# One static library per folder, refit_NAME. Its headers are included by path from the root. COLD: nothing in it is hot.
# WITH: sources that need more headers of others than most do, and the target that compiles those (Precompiled.cmake).
function(refit_module name)
  cmake_parse_arguments(ARG "COLD" "" "SOURCES;PUBLIC;PRIVATE;WITH" ${ARGN})
  set(headers refit_common_headers)
  set(options "")
  if(ARG_COLD)
    set(headers refit_cold_headers)
    set(options ${REFIT_COLD_OPTIMISATION})
  endif()
  add_library(refit_${name} STATIC ${ARG_SOURCES})
  target_include_directories(refit_${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(refit_${name} PUBLIC ${ARG_PUBLIC} PRIVATE ${ARG_PRIVATE} refit_warnings)
  target_compile_options(refit_${name} PRIVATE ${options})
  target_precompile_headers(refit_${name} REUSE_FROM ${headers})
  if(ARG_WITH)
    list(POP_FRONT ARG_WITH headers)
    add_library(refit_${name}_with OBJECT ${ARG_WITH})
    target_include_directories(refit_${name}_with PRIVATE ${PROJECT_SOURCE_DIR})
    target_link_libraries(refit_${name}_with PRIVATE ${ARG_PUBLIC} ${ARG_PRIVATE} refit_warnings)
    target_compile_options(refit_${name}_with PRIVATE ${options})
    target_precompile_headers(refit_${name}_with REUSE_FROM ${headers})
    target_sources(refit_${name} PRIVATE $<TARGET_OBJECTS:refit_${name}_with>)
  endif()
endfunction()

# refit_embed(TARGET FUNCTION FILE...)
#
# Puts files into a target as they are: `std::span<const refit::EmbeddedFile> FUNCTION()`
# (base/embedded.h) lists them by name without folder and last suffix, in the given order. The
# assembler reads them, since a compiler takes seconds for a literal of a few hundred kilobytes.
function(refit_embed target function)
  set(bytes "")
  set(symbols "")
  set(entries "")
  set(paths "")
  set(count 0)
  foreach(file IN LISTS ARGN)
    cmake_path(ABSOLUTE_PATH file OUTPUT_VARIABLE path)
    list(APPEND paths ${path})
    cmake_path(GET path STEM LAST_ONLY name)
    set(symbol ${function}_${count})
    string(APPEND bytes "    \"${symbol}: .incbin \\\"${path}\\\"\\n${symbol}_end: .byte 0\\n\"\n")
    string(APPEND symbols "extern const char begin_${count}[] __asm__(\"${symbol}\");
extern const char end_${count}[] __asm__(\"${symbol}_end\");
")
    string(APPEND entries "      {\"${name}\", {begin_${count}, static_cast<std::size_t>(end_${count} - begin_${count})}},\n")
    math(EXPR count "${count} + 1")
  endforeach()
  set(source ${CMAKE_CURRENT_BINARY_DIR}/${function}.cc)
  file(CONFIGURE OUTPUT ${source} @ONLY CONTENT
"#include \"base/embedded.h\"

__asm__(
    \".section .rodata\\n\"
@bytes@    \".text\\n\");

#pragma GCC visibility push(hidden)
@symbols@#pragma GCC visibility pop

namespace refit {

std::span<const EmbeddedFile> @function@();

std::span<const EmbeddedFile> @function@() {
  static const EmbeddedFile files[] = {
@entries@  };
  return files;
}

}  // namespace refit
")
  target_sources(${target} PRIVATE ${source})
  set_source_files_properties(${source} PROPERTIES OBJECT_DEPENDS "${paths}")
endfunction()

# refit_test(MODULE SOURCES a_test.cc... [LINK lib...])
#
# One Catch2 program per module; every test case is a ctest of its own. A test's name holds no
# semicolon and no bracket: CMake would take it for a list.
function(refit_test module)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${module}_test ${ARG_SOURCES} $<TARGET_OBJECTS:refit_test_main>)
  target_include_directories(${module}_test PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${module}_test PRIVATE refit_${module} ${ARG_LINK} Catch2::Catch2 refit_warnings)
  target_compile_options(${module}_test PRIVATE ${REFIT_COLD_OPTIMISATION})
  target_precompile_headers(${module}_test REUSE_FROM refit_test_precompiled)
  catch_discover_tests(${module}_test TEST_PREFIX "${module}: " PROPERTIES LABELS ${module}
                       DISCOVERY_MODE PRE_TEST)
endfunction()

# refit_fuzzer(NAME SOURCE LINK lib... [DEFINE definition...])
#
# The libFuzzer program bin/NAME_fuzz, which `make fuzz` builds (target fuzzers) and runs. Nothing
# without REFIT_FUZZ: libFuzzer comes with clang.
function(refit_fuzzer name source)
  cmake_parse_arguments(ARG "" "" "LINK;DEFINE" ${ARGN})
  if(NOT REFIT_FUZZ)
    return()
  endif()
  if(NOT TARGET fuzzers)
    add_custom_target(fuzzers)
  endif()
  add_executable(${name}_fuzz ${source})
  target_compile_definitions(${name}_fuzz PRIVATE ${ARG_DEFINE})
  target_link_libraries(${name}_fuzz PRIVATE ${ARG_LINK} refit_warnings -fsanitize=fuzzer)
  add_dependencies(fuzzers ${name}_fuzz)
endfunction()
