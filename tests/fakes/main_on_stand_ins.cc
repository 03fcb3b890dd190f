#include "cli/verbs.h"
#include "tests/fakes/fake_cuda_nccl.h"

int main(int argc, char** argv) {
  refit::fake::end_with_faults();
  return refit::run_refit(argc, argv);
}
