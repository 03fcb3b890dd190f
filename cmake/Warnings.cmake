add_library(refit_warnings INTERFACE)
target_compile_options(refit_warnings INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion)

set(is_known_compiler OFF)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  set(is_known_compiler ON)
  # g++ 12 sees overlapping copies inside std::string where there are none (GCC bug 105651).
  # Where <string> is precompiled, it sees their sizes out of bounds as well.
  target_compile_options(refit_warnings INTERFACE -Wno-restrict -Wno-array-bounds -Wno-stringop-overflow
                                                  -Wno-stringop-overread)
endif()
# A newer compiler has new opinions; they must not keep anyone from building.
if(REFIT_WERROR AND is_known_compiler)
  target_compile_options(refit_warnings INTERFACE -Werror)
endif()
