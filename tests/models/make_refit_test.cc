#include <set>

#include <catch2/catch.hpp>

#include "models/parcels.h"
#include "tests/models/engine_case.h"

namespace refit::test {
namespace {

// Training of `model` on ranks from 0, generation behind it.
Refit refit_of(const ModelSpec& model, MegatronOptions training, VllmOptions generation) {
  generation.first = Rank(training.gpus);
  return make_refit(model, *megatron(model, training), *vllm(model, generation),
                    training.gpus + generation.gpus);
}

MegatronOptions training(int gpus, int tensor, int pipeline, int expert) {
  MegatronOptions options;
  options.gpus = gpus;
  options.tensor = tensor;
  options.pipeline = pipeline;
  options.expert = expert;
  options.expert_tensor = 1;
  return options;
}

VllmOptions generation(int gpus, int tensor, int pipeline = 1) {
  VllmOptions options;
  options.gpus = gpus;
  options.tensor = tensor;
  options.pipeline = pipeline;
  return options;
}

// Every tensor of the model is in one class, which describes it and lies in its stages.
void require_classes_hold_the_model(const Refit& refit, const ModelSpec& model,
                                    const Parallelism& source, const Parallelism& destination) {
  std::set<std::int64_t> seen;
  std::int64_t checkpoint_tensors = 0;
  for (const TensorClass& c : refit.classes) {
    CAPTURE(c.name);
    checkpoint_tensors += c.checkpoint_tensors;
    REQUIRE(c.shape() == c.destination.shape());
    REQUIRE(c.shape().front() == static_cast<std::int64_t>(c.members.size()));
    REQUIRE(c.name == model.tensors[static_cast<std::size_t>(c.members.front())].name);
    for (const std::int64_t member : c.members) {
      REQUIRE(seen.insert(member).second);
      const TensorSpec& tensor = model.tensors[static_cast<std::size_t>(member)];
      REQUIRE(tensor.role == c.role);
      REQUIRE(tensor.dtype == c.dtype);
      REQUIRE(tensor.mtp == c.mtp);
      REQUIRE(tensor.part == c.part);
      REQUIRE(source.stage_of(tensor) == c.stage);
      REQUIRE(static_cast<std::int64_t>(c.members.size()) * tensor.elements() == c.elements());
      const auto n = static_cast<int>(c.members.size());
      REQUIRE(source.layout(tensor, c.stage, n) == c.source);
      REQUIRE(destination.layout(tensor, destination.stage_of(tensor), n) == c.destination);
    }
  }
  REQUIRE(seen.size() == model.tensors.size());
  REQUIRE(checkpoint_tensors == model.checkpoint_tensors());
  REQUIRE(refit.unique_bytes() == model.bytes());
}

}  // namespace

TEST_CASE("make_refit: classes hold every tensor once, with its layouts", "[models][make_refit]") {
  const std::string name =
      GENERATE(std::string("qwen3-8b"), std::string("qwen3-235b-a22b"),
               std::string("nemotron-3-super-120b-a12b"), std::string("gpt-oss-120b"));
  CAPTURE(name);
  const ModelSpec model = catalog_model(name, {.mtp = true, .fp32_small_tensors = true});
  MegatronOptions options = training(16, 2, 2, 4);
  options.context = 2;
  VllmOptions side = generation(16, 4, 2);
  side.first = Rank(16);
  const auto source = megatron(model, options);
  const auto destination = vllm(model, side);
  const Refit refit = make_refit(model, *source, *destination, 32);
  require_classes_hold_the_model(refit, model, *source, *destination);
  REQUIRE(refit.ranks == 32);
  REQUIRE(refit.stages == 2);
  REQUIRE(refit.sources.size() == 16);
  REQUIRE(refit.destinations.size() == 16);
  for (int r = 0; r < 16; ++r) {
    REQUIRE(refit.sources[static_cast<std::size_t>(r)] == Rank(r));
    REQUIRE(refit.destinations[static_cast<std::size_t>(r)] == Rank(16 + r));
  }
}

TEST_CASE("make_refit: tensors that differ in anything a layout asks for are not one class",
          "[models][make_refit]") {
  // Same shape, each different in one thing from the first; the last is like the first.
  TensorSpec plain;
  plain.name = "first";
  plain.dims = {{8, Axis::ffn, {}}, {6, Axis::none, {}}};
  plain.role = Role::dense_ffn;
  plain.layer = 0;
  ModelSpec model;
  model.layers = 1;
  model.tensors.assign(8, plain);
  model.tensors[1].dtype = Dtype::f32;
  model.tensors[2].dims[0].axis = Axis::none;
  model.tensors[3].dims[0].blocks = {4, 4};
  model.tensors[4].role = Role::shared_expert;
  model.tensors[5].part = "up";
  model.tensors[6].mtp = true;
  const auto source = megatron(model, training(2, 2, 1, 1));
  const auto destination = vllm(model, generation(2, 1));
  const Refit refit = make_refit(model, *source, *destination, 2);
  REQUIRE(refit.classes.size() == 7);
  REQUIRE(refit.classes[0].members == std::vector<std::int64_t>{0, 7});
  require_classes_hold_the_model(refit, model, *source, *destination);
}

TEST_CASE("make_refit: layers that differ in the stage of one side are classes of their own",
          "[models][make_refit]") {
  // 36 layers, training stages 0..17 and 18..35, generation stages 0..11, 12..23 and 24..35: four
  // groups of layers, (0, 0) (0, 1) (1, 1) (1, 2), of 12, 6, 6 and 12.
  const ModelSpec model = catalog_model("qwen3-8b");
  const Refit refit = refit_of(model, training(4, 2, 2, 1), generation(6, 2, 3));
  std::multiset<std::size_t> sizes;
  for (const TensorClass& c : refit.classes) {
    if (c.part == "o") sizes.insert(c.members.size());
  }
  REQUIRE(sizes == std::multiset<std::size_t>{6, 6, 12, 12});
}

TEST_CASE("make_refit: both sides may be the same ranks", "[models][make_refit]") {
  const ModelSpec model = catalog_model("qwen3-8b");
  const Refit refit =
      make_refit(model, *megatron(model, training(8, 4, 1, 1)), *vllm(model, generation(8, 2)), 8);
  REQUIRE(refit.sources == refit.destinations);
  REQUIRE(refit.sources.size() == 8);
  // Every engine of 2 gets all of it, and each of its ranks the norms, which are not cut: 36 layers
  // x (2 x 4096 + 2 x 128) and the last 4096, 2 bytes each.
  const std::int64_t norms = 2 * (36 * (2 * 4096 + 2 * 128) + 4096);
  REQUIRE(refit.payload_bytes() == 4 * (model.bytes() + norms));
}

TEST_CASE("make_refit: Kimi K3 is 5,558,968,952,000 bytes in a few hundred classes",
          "[models][make_refit]") {
  const ModelSpec model = catalog_model("kimi-k3");
  REQUIRE(model.checkpoint_tensors() == 249'756);
  MegatronOptions options = training(2048, 1, 16, 32);
  options.first_stage_layers = 3;
  const Refit refit = refit_of(model, options, generation(2048, 32));
  REQUIRE(refit.unique_bytes() == 5'558'968'952'000);
  std::int64_t tensors = 0;
  for (const TensorClass& c : refit.classes) tensors += c.checkpoint_tensors;
  REQUIRE(tensors == 249'756);
  CAPTURE(refit.classes.size());
  REQUIRE(refit.classes.size() > 300);
  REQUIRE(refit.classes.size() < 700);

  // The plan's atoms follow the classes and the cuts, not the tensors or the 4096 ranks: each of
  // the 16 stages has 32 expert ranks x 32 tensor ranks of expert content, and some dense.
  const std::vector<Parcel> parcels = find_parcels(refit);
  REQUIRE(parcels.size() < 16 * (32 * 32 + 200));
  std::int64_t bytes = 0;
  for (const Parcel& parcel : parcels) bytes += parcel.bytes;
  REQUIRE(bytes == 5'558'968'952'000);
}

TEST_CASE("make_refit: Qwen3.8 is 4,839,609,395,968 bytes", "[models][make_refit]") {
  const ModelSpec model = catalog_model("qwen3.8-2.4t-a95b");
  const Refit refit = refit_of(model, training(256, 1, 4, 64), generation(256, 16));
  REQUIRE(refit.unique_bytes() == 4'839'609'395'968);
  REQUIRE(refit.classes.size() < 200);
}

}  // namespace refit::test
