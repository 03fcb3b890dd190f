#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "tests/fuzz/corpus.h"

// write_corpus FOLDER: the seeds as files, a folder per target, for libFuzzer.
int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: write_corpus FOLDER\n");
    return 2;
  }
  const auto write = [&](const char* target, const std::vector<refit::fuzz::Seed>& seeds) {
    const std::filesystem::path folder = std::filesystem::path(argv[1]) / target;
    std::filesystem::create_directories(folder);
    for (const refit::fuzz::Seed& seed : seeds) {
      std::ofstream(folder / seed.name, std::ios::binary)
          .write(reinterpret_cast<const char*>(seed.bytes.data()),
                 static_cast<std::streamsize>(seed.bytes.size()));
    }
  };
  write("delta_file", refit::fuzz::delta_file_seeds());
  write("delta_segment", refit::fuzz::delta_segment_seeds());
  write("safetensors_header", refit::fuzz::safetensors_seeds());
  return 0;
}
