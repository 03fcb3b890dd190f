// The one place that compiles Catch2's main: it is the slow part.
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
