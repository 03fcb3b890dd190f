#include <map>
#include <utility>

#include <nlohmann/json.hpp>
#include <pugixml.hpp>

#include "tests/cli/program.h"

namespace refit {
namespace {

using Json = nlohmann::json;

const std::string kSmall = std::string(REFIT_SOURCE_DIR) + "/scenarios/small/";

using Content = std::pair<int, long>;  // which half, which chunk of it
using Buffer = std::map<long, Content>;

// Runs an algorithm as MSCCL's interpreter does: thread blocks in order, a send and the receive of
// its peer on the same channel together, waits on steps of other blocks of the rank.
class Interpreter {
 public:
  explicit Interpreter(const pugi::xml_node& algo) {
    for (const pugi::xml_node& gpu : algo.children("gpu")) {
      REQUIRE(gpu.attribute("id").as_int() == static_cast<int>(gpus_.size()));
      Gpu g;
      for (const pugi::xml_node& tb : gpu.children("tb")) {
        REQUIRE(tb.attribute("id").as_int() == static_cast<int>(g.blocks.size()));
        g.blocks.push_back({tb, tb.child("step")});
      }
      gpus_.push_back(std::move(g));
    }
  }

  Buffer& buffer(int gpu, const std::string& name) {
    return gpus_[static_cast<std::size_t>(gpu)].buffers[name];
  }

  bool run() {
    for (bool progress = true; progress;) {
      progress = false;
      for (std::size_t g = 0; g < gpus_.size(); ++g)
        for (Block& block : gpus_[g].blocks)
          progress = try_step(static_cast<int>(g), block) || progress;
    }
    for (const Gpu& gpu : gpus_)
      for (const Block& block : gpu.blocks)
        if (block.step) return false;
    return true;
  }

 private:
  struct Block {
    pugi::xml_node tb, step;
    int done = 0;
  };
  struct Gpu {
    std::map<std::string, Buffer> buffers;
    std::vector<Block> blocks;
  };

  static std::string word(const pugi::xml_node& step, const char* name) {
    return step.attribute(name).value();
  }

  bool waits(int gpu, const Block& block) {
    const int depid = block.step.attribute("depid").as_int();
    if (depid < 0) return false;
    const int deps = block.step.attribute("deps").as_int();
    const Block& other =
        gpus_[static_cast<std::size_t>(gpu)].blocks.at(static_cast<std::size_t>(depid));
    int number = 0;
    for (const pugi::xml_node& step : other.tb.children("step"))
      if (number++ == deps) CHECK(step.attribute("hasdep").as_int() == 1);
    return other.done <= deps;
  }

  void finish(Block& block) {
    ++block.done;
    block.step = block.step.next_sibling("step");
  }

  void copy(const pugi::xml_node& step, Buffer& from, Buffer& to) {
    const long count = step.attribute("cnt").as_int();
    REQUIRE(count < 72);
    for (long k = 0; k < count; ++k) {
      const auto found = from.find(step.attribute("srcoff").as_int() + k);
      REQUIRE(found != from.end());  // nobody sends what it does not have
      to[step.attribute("dstoff").as_int() + k] = found->second;
    }
  }

  bool try_step(int gpu, Block& block) {
    if (!block.step || waits(gpu, block)) return false;
    const std::string type = word(block.step, "type");
    if (type == "nop") return finish(block), true;
    if (type == "cpy") {
      copy(block.step, buffer(gpu, word(block.step, "srcbuf")),
           buffer(gpu, word(block.step, "dstbuf")));
      return finish(block), true;
    }
    if (type != "s") return false;  // receives go with their sends
    const int peer = block.tb.attribute("send").as_int();
    for (Block& other : gpus_.at(static_cast<std::size_t>(peer)).blocks) {
      if (other.tb.attribute("recv").as_int() != gpu || !other.step ||
          word(other.step, "type") != "r" ||
          other.tb.attribute("chan").as_int() != block.tb.attribute("chan").as_int())
        continue;
      REQUIRE(word(other.step, "cnt") == word(block.step, "cnt"));
      pugi::xml_node moved = block.step;
      copy(moved, buffer(gpu, word(moved, "srcbuf")), buffer(peer, word(other.step, "dstbuf")));
      REQUIRE(word(other.step, "dstoff") == word(moved, "dstoff"));
      finish(other);
      return finish(block), true;
    }
    return false;
  }

  std::vector<Gpu> gpus_;
};

TEST_CASE("export msccl: an interpreter fills every output with what belongs there",
          "[cli][export]") {
  const std::string strategy = GENERATE("direct", "reshard");
  CAPTURE(strategy);
  const Folder folder;
  const std::string scenario = folder.write("s.yaml", kScenario);
  const Outcome outcome = refit_program({"export", "msccl", scenario, "--strategy", strategy});
  INFO(outcome.err);
  REQUIRE(outcome.code == 0);
  pugi::xml_document document;
  REQUIRE(document.load_string(outcome.out.c_str()));
  const pugi::xml_node algo = document.child("algo");
  CHECK(algo.attribute("ngpus").as_int() == 8);
  CHECK(std::string(algo.attribute("coll").value()) == "custom");
  Interpreter interpreter(algo);
  // Ranks 0 and 2 hold the first half, 1 and 3 the second; 4 and 5 want the first, 6 and 7 the
  // second. A half is one parcel, so its chunks lie one behind the other.
  for (const pugi::xml_node& gpu : algo.children("gpu")) {
    const int id = gpu.attribute("id").as_int();
    for (long k = 0; k < gpu.attribute("i_chunks").as_int(); ++k)
      interpreter.buffer(id, "i")[k] = {id % 2, k};
  }
  CHECK(interpreter.run());
  for (const pugi::xml_node& gpu : algo.children("gpu")) {
    const int id = gpu.attribute("id").as_int();
    if (id < 4) continue;
    const Buffer& output = interpreter.buffer(id, "o");
    REQUIRE(gpu.attribute("o_chunks").as_int() > 0);
    REQUIRE(output.size() == static_cast<std::size_t>(gpu.attribute("o_chunks").as_int()));
    for (const auto& [at, content] : output) CHECK(content == Content{id < 6 ? 0 : 1, at});
  }
}

TEST_CASE("export msccl: buffers have the chunks of the whole call, whatever a rank needs of them",
          "[cli][export]") {
  // 9 rows are 3 each for ranks 0 to 2, and 5 and 4 for ranks 3 and 4. microsoft/msccl refuses a
  // rank whose i_chunks or o_chunks is neither 0 nor nchunksperloop.
  const Folder folder;
  const std::string scenario =
      folder.write("s.yaml",
                   "scenario: rows\ncluster: {catalog: dgx_h100, nodes: 1}\ntensors:\n  - name: w\n"
                   "    shape: [9, 64]\n    dtype: bf16\n"
                   "    source: {ranks: 0..2, placements: [shard(0)]}\n"
                   "    destination: {ranks: 3..4, placements: ['shard(0, balanced)']}\n");
  const Outcome outcome = refit_program({"export", "msccl", scenario, "--strategy", "direct"});
  INFO(outcome.err);
  REQUIRE(outcome.code == 0);
  pugi::xml_document document;
  REQUIRE(document.load_string(outcome.out.c_str()));
  const pugi::xml_node algo = document.child("algo");
  const int chunks = algo.attribute("nchunksperloop").as_int();
  CHECK(chunks == 5);
  for (const pugi::xml_node& gpu : algo.children("gpu")) {
    const int id = gpu.attribute("id").as_int();
    CHECK(gpu.attribute("i_chunks").as_int() == (id < 3 ? chunks : 0));
    CHECK(gpu.attribute("o_chunks").as_int() == (id == 3 || id == 4 ? chunks : 0));
  }
}

TEST_CASE("export msccl: what does not fit is refused with the op or the limit", "[cli][export]") {
  const Outcome collective = refit_program(
      {"export", "msccl", kSmall + "moe_two_racks.yaml", "--strategy", "gather_broadcast"});
  CHECK(collective.code == 2);
  CHECK(has(collective.err, "MSCCL: op "));
  CHECK(has(collective.err, "a plan may have transfers only"));
  const Outcome steps =
      refit_program({"export", "msccl", kSmall + "moe_two_racks.yaml", "--strategy", "reshard"});
  CHECK(steps.code == 2);
  CHECK(has(steps.err, "is past the 256 steps that a thread block may have"));
  CHECK(has(steps.err, "MSCCL: op "));
}

const char* const kMoe = R"(scenario: moe for the bench
cluster: {catalog: dgx_h100, nodes: 3}
model: qwen3-30b-a3b
training: {engine: megatron, gpus: 16, tensor: 2, pipeline: 2, expert: 8, expert_tensor: 1}
generation: {engine: vllm, gpus: 8, tensor: 4}
)";

TEST_CASE("export m2n: our importer makes the same scenario of the files", "[cli][export]") {
  const Folder folder;
  const std::string scenario = folder.write("s.yaml", kMoe);
  const Outcome outcome = refit_program({"export", "m2n", scenario, "-o", folder / "m2n"});
  INFO(outcome.err);
  REQUIRE(outcome.code == 0);
  const Json system = Json::parse(text_of(folder / "m2n/system.json"));
  CHECK(system.at("train") == Json{{"num_gpus", 16},
                                   {"tp_size", 2},
                                   {"cp_size", 1},
                                   {"ep_size", 8},
                                   {"pp_size", 2},
                                   {"fsdp_size", 1},
                                   {"dp_size", 4}});
  // 16 GPUs and 8, and a plan of them with as many bytes for every rank.
  REQUIRE(refit_program({"import", "m2n-system", folder / "m2n/system.json", "--model",
                         "qwen3-30b-a3b", "--cluster", "dgx_h100", "-o", folder / "back.yaml"})
              .code == 0);
  const auto bytes = [](const std::string& file) {
    const Outcome simulated =
        refit_program({"simulate", file, "--strategy", "direct", "--wire-only", "--json"});
    REQUIRE(simulated.code == 0);
    const Json row = Json::parse(simulated.out).at("strategies").at(0);
    return std::pair(row.at("payload_bytes"), row.at("network_bytes"));
  };
  CHECK(bytes(folder / "back.yaml") == bytes(scenario));
  const Json model = Json::parse(text_of(folder / "m2n/model.json"));
  CHECK(model.at("model.layers.47.mlp.experts.127.down_proj.weight") ==
        Json{{"shape", {2048, 768}}, {"dtype", "BF16"}});
  const Json calls = Json::parse(text_of(folder / "m2n/calls.json")).at("calls");
  bool seen = false;
  for (const Json& call : calls) {
    if (call.at("tensor") != "model.layers.0.self_attn.q_proj.weight") continue;
    seen = true;
    // Stage 0 is ranks 0 to 7: tensor rank r % 2, four copies. Generation is ranks 16 to 23.
    CHECK(call.at("source") == Json{{"start_rank", 0},
                                    {"mesh", {4, 2}},
                                    {"placements", {-1, 0}},
                                    {"local_shape", {2048, 2048}}});
    CHECK(call.at("destination") == Json{{"start_rank", 16},
                                         {"mesh", {2, 4}},
                                         {"placements", {-1, 0}},
                                         {"local_shape", {1024, 2048}}});
  }
  CHECK(seen);
}

TEST_CASE("export m2n: our importer of models takes the model", "[cli][export]") {
  const Folder folder;
  REQUIRE(refit_program({"export", "m2n", kSmall + "dense_tp2_to_tp4.yaml", "-o", folder / "m2n"})
              .code == 0);
  const Outcome read = refit_program({"import", "m2n-model", folder / "m2n/model.json"});
  INFO(read.err);
  CHECK(read.code == 0);
}

TEST_CASE("export m2n: layouts that the bench can't have are refused with a tensor",
          "[cli][export]") {
  const Folder folder;
  const std::string text = std::string(kMoe);
  const std::size_t at = text.find("gpus: 16,");
  const std::string lists = folder.write(
      "s.yaml", text.substr(0, at) + "gpus: 16, stage_layers: [20, 28]," + text.substr(at + 9));
  const Outcome uneven = refit_program({"export", "m2n", lists, "-o", folder / "m2n"});
  CHECK(uneven.code == 2);
  CHECK(has(uneven.err, "NCCL M2N's bench: model.layers."));
  CHECK(has(uneven.err, "lies on other training ranks"));
  const Outcome written =
      refit_program({"export", "m2n", folder.write("w.yaml", kScenario), "-o", folder / "m2n"});
  CHECK(written.code == 2);
  CHECK(has(written.err, "has tensors that are written out; it needs a model and degrees"));
}

}  // namespace
}  // namespace refit
