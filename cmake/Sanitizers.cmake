# REFIT_SANITIZE=address,undefined instruments everything that is built.
set(REFIT_SANITIZE "" CACHE STRING "Sanitizers, comma separated; empty for none")
if(REFIT_SANITIZE)
  add_compile_options(-fsanitize=${REFIT_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${REFIT_SANITIZE})
endif()

# Coverage that libFuzzer reads, in everything it may reach; the programs are those of refit_fuzzer() (Modules.cmake).
if(REFIT_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "REFIT_FUZZ needs libFuzzer, which comes with clang: -DCMAKE_CXX_COMPILER=clang++")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
