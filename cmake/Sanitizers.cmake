# REFIT_SANITIZE=address,undefined instruments everything that is built.
set(REFIT_SANITIZE "" CACHE STRING "Sanitizers, comma separated; empty for none")
if(REFIT_SANITIZE)
  add_compile_options(-fsanitize=${REFIT_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${REFIT_SANITIZE})
endif()
