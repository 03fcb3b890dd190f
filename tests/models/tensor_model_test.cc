#include "models/import/tensor_model.h"

#include <filesystem>
#include <fstream>

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include "base/error.h"
#include "models/import/model_file.h"

namespace refit {
namespace {

std::string complaint(const std::string& json) {
  try {
    parse_m2n_model(json, "m.json");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::bad_input);
    return error.what();
  }
  return "no error";
}

std::string entry(const std::string& name, const std::string& shape,
                  const std::string& dtype = "BF16") {
  return fmt::format("\"{}\": {{\"shape\": [{}], \"dtype\": \"{}\", \"shard\": \"x\"}}", name,
                     shape, dtype);
}

// Two layers, of which the second has two experts: 8 query heads, 2 key heads of 4.
std::string small_model() {
  std::string json = "{" + entry("model.embed_tokens.weight", "32, 16") + "," +
                     entry("lm_head.weight", "32, 16") + "," + entry("model.norm.weight", "16");
  for (const char* layer : {"model.layers.0.", "model.layers.1."}) {
    const std::string at = std::string(",\n");
    json += at + entry(layer + std::string("self_attn.q_proj.weight"), "32, 16");
    json += at + entry(layer + std::string("self_attn.k_proj.weight"), "8, 16");
    json += at + entry(layer + std::string("self_attn.v_proj.weight"), "8, 16");
    json += at + entry(layer + std::string("self_attn.o_proj.weight"), "16, 32");
    json += at + entry(layer + std::string("self_attn.q_norm.weight"), "4");
  }
  json += "," + entry("model.layers.0.mlp.down_proj.weight", "16, 64");
  json += "," + entry("model.layers.1.mlp.gate.weight", "2, 16", "F32");
  for (const char* expert : {"0", "1"}) {
    const std::string at = fmt::format("model.layers.1.mlp.experts.{}.up_proj.weight", expert);
    json += "," + entry(at, "24, 16", "F8_E4M3") + "," + entry(at + "_scale_inv", "1, 1", "F32");
  }
  return json + "}";
}

TEST_CASE("tensor model: roles, axes, heads and experts follow from names", "[models][import]") {
  const ModelSpec model = parse_m2n_model(small_model(), "m.json");
  CHECK(model.layers == 2);
  CHECK(model.hidden == 16);
  CHECK(model.vocab == 32);
  CHECK(model.experts == 2);
  CHECK_FALSE(model.tied_embeddings);
  CHECK(model.heads == HeadGroups{8, 2, 4, false});  // 32 / 4 and 8 / 4
  // 3 others, 5 of attention a layer, down, router, 2 experts with scales.
  CHECK(model.checkpoint_tensors() == 3 + 10 + 2 + 4);
  const auto find = [&](const std::string& name) {
    for (const TensorSpec& tensor : model.tensors) {
      if (tensor.name == name) return tensor;
    }
    FAIL(name);
    return TensorSpec{};
  };
  const TensorSpec experts = find("model.layers.1.mlp.experts.{expert}.up_proj.weight");
  CHECK(experts.role == Role::routed_expert);
  CHECK(experts.experts == 2);
  CHECK(experts.dims[0].axis == Axis::expert);
  CHECK(experts.dims[1].axis == Axis::ffn);
  CHECK(experts.dtype == Dtype::f8_e4m3);
  const TensorSpec scales = find("model.layers.1.mlp.experts.{expert}.up_proj.weight_scale_inv");
  CHECK(scales.scales);
  CHECK(scales.dims[1].axis == Axis::none);
  CHECK(find("model.layers.0.mlp.down_proj.weight").dims[1].axis == Axis::ffn);
  CHECK(find("model.layers.1.mlp.gate.weight").role == Role::router);
  CHECK(find("model.layers.1.self_attn.k_proj.weight").dims[0].axis == Axis::kv_head);
}

TEST_CASE("tensor model: what shapes and names cannot say is not guessed", "[models][import]") {
  CHECK(complaint("{" + entry("model.layers.0.self_attn.q_proj.weight", "32, 16") + "," +
                  entry("model.layers.0.self_attn.k_proj.weight", "8, 16") + "}") ==
        "m.json: nothing says how long a head is: q_proj has 32 rows, k_proj 8, and there is no "
        "q_norm; use the model's config.json");
  // 2^40 heads of one row each were taken for none, as their number did not fit.
  CHECK(complaint("{" + entry("model.layers.0.self_attn.q_proj.weight", "1099511627776, 16") + "," +
                  entry("model.layers.0.self_attn.k_proj.weight", "8, 16") + "," +
                  entry("model.layers.0.self_attn.q_norm.weight", "1") + "}") ==
        "m.json: q_proj has 1099511627776 rows, k_proj 8, q_norm 1: no whole heads, or more than "
        "65536; use the model's config.json");
  CHECK(complaint("{" + entry("model.layers.0.mixer.conv1d.weight", "8, 1, 4") + "}") ==
        "m.json: no rule says how ranks divide model.layers.0.mixer.conv1d.weight; use the model's "
        "config.json");
  CHECK_THAT(complaint("{" + entry("model.norm.weight", "8") + "}"),
             Catch::Contains("no tensor is of a layer"));
  CHECK_THAT(complaint("{" + entry("model.layers.0.mlp.experts.1.up_proj.weight", "8, 8") + "}"),
             Catch::Contains("1 experts are there, the last has number 1"));
  CHECK_THAT(complaint("{" + entry("model.layers.0.mlp.up_proj.weight", "8, 0") + "}"),
             Catch::Contains("a dim of 0"));
  CHECK_THAT(complaint("{" + entry("model.layers.0.mlp.up_proj.weight", "8, 8", "BF17") + "}"),
             Catch::Contains("dtype"));
  CHECK_THAT(complaint("{\"a\": 1}"), Catch::Contains("a: expected {\"shape\""));
}

TEST_CASE("tensor model: a file with some of the layers is not taken for a model of them all",
          "[models][import]") {
  // Layers 2 and 3 of 4, as the second file of a checkpoint has them.
  std::vector<ListedTensor> part;
  for (const int layer : {2, 3})
    part.push_back({"model.layers." + std::to_string(layer) + ".input_layernorm.weight", {8}});
  REQUIRE_THROWS_WITH(
      model_of_tensors(part, "f.safetensors"),
      "f.safetensors: no tensor is of layer 0, but some are of layer 2; is this one "
      "file of several? All of them are in the index or the config.json");
}

TEST_CASE("model file: a header of safetensors is a model, without its data", "[models][import]") {
  std::string folder = (std::filesystem::temp_directory_path() / "refit-model-XXXXXX").string();
  REQUIRE(::mkdtemp(folder.data()) != nullptr);
  const std::string header =
      R"({"model.layers.0.mlp.up_proj.weight":{"dtype":"BF16","shape":[8,4],"data_offsets":[0,64]}})";
  std::string file(8, '\0');
  file[0] = static_cast<char>(header.size());
  std::ofstream(folder + "/a.safetensors", std::ios::binary)
      << file << header << std::string(64, 'x');
  CHECK(load_model(folder + "/a.safetensors").bytes() == 64);

  const std::string index =
      R"({"metadata":{"total_size":64.0},)"
      R"("weight_map":{"model.layers.0.mlp.up_proj.weight":"a.safetensors"}})";
  std::ofstream(folder + "/model.safetensors.index.json") << index;
  CHECK(load_model(folder + "/model.safetensors.index.json").parameters() == 32);
  std::filesystem::remove(folder + "/a.safetensors");
  CHECK_THROWS_WITH(load_model(folder + "/model.safetensors.index.json"),
                    Catch::Contains("an index has no shapes, and a.safetensors is not beside it"));
  std::filesystem::remove_all(folder);
}

TEST_CASE("checkpoint index: names and bytes can check a model", "[models][import]") {
  const ModelSpec model =
      parse_m2n_model("{" + entry("model.layers.0.mlp.up_proj.weight", "8, 4") + "}", "m.json");
  const auto found = [&](const std::string& json) {
    std::string lines;
    for (const std::string& line : differences(parse_checkpoint_index(json, "i.json"), model))
      lines += line + "\n";
    return lines;
  };
  CHECK(
      found(
          R"({"metadata":{"total_size":64},"weight_map":{"model.layers.0.mlp.up_proj.weight":"a"}})")
          .empty());
  CHECK(found(R"({"metadata":{"total_size":65},"weight_map":{"b":"a"}})") ==
        "1 tensor of m.json not in the index, such as model.layers.0.mlp.up_proj.weight\n"
        "1 tensor of the index not in m.json, such as b\n"
        "total_size is 65 bytes, m.json has 64\n");
}

TEST_CASE("checkpoint index: a model of countless experts is compared by their number",
          "[models][import]") {
  // A configuration of a few lines may have 10,000 layers of 65,536 experts: names for any memory.
  ModelSpec model;
  model.name = "m";
  for (int layer = 0; layer < 10'000; ++layer) {
    TensorSpec tensor;
    tensor.name = fmt::format("model.layers.{}.mlp.experts.{{expert}}.up_proj.weight", layer);
    tensor.experts = 65'536;
    model.tensors.push_back(tensor);
  }
  CheckpointIndex index;
  index.names = {"a"};
  CHECK(differences(index, model) ==
        std::vector<std::string>{"the index has 1 tensor, m has 655,360,000"});
}

}  // namespace
}  // namespace refit
