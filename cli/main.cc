#include "cli/verbs.h"

int main(int argc, char** argv) { return refit::run_refit(argc, argv); }
