// What each rank of FSDP2 holds, dealt out row by row as torch.chunk does it.
#include <catch2/catch.hpp>

#include "tests/models/fsdp_case.h"

namespace refit::test {
namespace {

Rows chunk(const Rows& rows, int n, int i) {
  return chunk_case(n).cut(rows)[static_cast<std::size_t>(i)];
}

// The i-th of n parts of each of several blocks.
Rows chunk_blocks(const Rows& rows, const std::vector<std::int64_t>& blocks, int n, int i) {
  return blocks_case(n, blocks).cut(rows)[static_cast<std::size_t>(i)];
}

using Sides = std::vector<Rows>;  // what a rank holds of each dim

Sides whole(const TensorSpec& tensor) {
  Sides sides;
  for (const TensorDim& dim : tensor.dims) sides.push_back(rows_from_to(0, dim.size));
  return sides;
}

struct Job {
  int pp, replicate, shard, context, tensor, ep, etp;
  int ranks() const { return pp * replicate * shard * context * tensor; }
  int copy() const { return shard * context * tensor; }
};

// Takes the rank apart, the fastest axis first.
class RankDigits {
 public:
  explicit RankDigits(int rank) : left_(rank) {}
  int next(int size) {
    const int digit = left_ % size;
    left_ /= size;
    return digit;
  }

 private:
  int left_;
};

void cut(Rows& rows, const TensorDim& dim, int n, int i) {
  rows = dim.blocks.empty() ? chunk(rows, n, i) : chunk_blocks(rows, dim.blocks, n, i);
}

Sides dense_oracle(const Job& job, const TensorSpec& tensor, int rank_in_stage) {
  RankDigits digits(rank_in_stage);
  const int tp = digits.next(job.tensor);
  const int shard = digits.next(job.shard * job.context);
  Sides sides = whole(tensor);
  for (std::size_t d = 0; d < sides.size(); ++d) {
    if (tensor.dims[d].axis != Axis::none) cut(sides[d], tensor.dims[d], job.tensor, tp);
  }
  sides[0] = chunk(sides[0], job.shard * job.context, shard);
  return sides;
}

Sides expert_oracle(const Job& job, const TensorSpec& tensor, int rank_in_stage) {
  RankDigits digits(rank_in_stage);
  const int etp = digits.next(job.etp);
  const int ep = digits.next(job.ep);
  const int shards = job.copy() / job.ep / job.etp;
  const int shard = digits.next(shards);
  Sides sides = whole(tensor);
  sides[0] = chunk(sides[0], job.ep, ep);
  for (std::size_t d = 1; d < sides.size(); ++d) {
    if (tensor.dims[d].axis == Axis::ffn) cut(sides[d], tensor.dims[d], job.etp, etp);
  }
  const bool alone = tensor.experts > 0 && job.ep == 1;
  const bool crowded = job.ep > 1 && shards * job.ep > tensor.dims[0].size;
  const std::size_t d = alone || crowded ? 1 : 0;
  sides[d] = chunk(sides[d], shards, shard);
  return sides;
}

}  // namespace

TEST_CASE("fsdp: random meshes hold what torch.chunk deals out, element by element",
          "[models][fsdp][oracle]") {
  const unsigned seed = 2024;
  CAPTURE(seed);
  std::mt19937 random(seed);
  const auto pick = [&](std::vector<int> of) {
    return of[random() % static_cast<unsigned>(of.size())];
  };
  int checked = 0, empty = 0;
  for (int round = 0; round < 400; ++round) {
    Job job{pick({1, 2}), pick({1, 2}), pick({1, 2, 3, 5}), pick({1, 2}), pick({1, 2, 4}), 1, 1};
    job.ep = pick({1, 2, 4});
    job.etp = job.ep == 1 ? job.tensor : pick({1, job.tensor});
    if (job.copy() % (job.ep * job.etp) != 0) continue;
    FsdpOptions options = fsdp_on(job.ranks(), job.replicate, job.tensor, job.context);
    options.pipeline = job.pp;
    options.stage_layers = job.pp == 1 ? std::vector<int>{1} : std::vector<int>{1, 0};
    options.expert = job.ep;
    options.expert_tensor = job.etp;
    options.first = Rank(7);
    const auto side = fsdp(one_layer(), options);

    const std::int64_t hidden = 1 + static_cast<std::int64_t>(random() % 20);
    const std::int64_t width = 4 * (1 + static_cast<std::int64_t>(random() % 6));
    const int shards = job.copy() / job.ep / job.etp;
    const std::int64_t in_expert = std::int64_t{4} * shards;  // Shard(1) is even
    TensorSpec one_by_one =
        layer_tensor({{8, Axis::expert, {}}, {in_expert, Axis::ffn, {}}, {hidden, Axis::none, {}}},
                     Role::routed_expert, "up");
    TensorSpec packed = one_by_one;
    packed.dims[1] = {2 * in_expert, Axis::ffn, {in_expert, in_expert}};
    one_by_one.experts = 8;
    const TensorSpec tensors[] = {
        layer_tensor({{width, Axis::ffn, {}}, {hidden, Axis::none, {}}}),
        layer_tensor({{hidden, Axis::none, {}}, {width, Axis::ffn, {}}}),
        layer_tensor({{hidden, Axis::none, {}}}, Role::norm),
        layer_tensor({{hidden + width, Axis::vocab, {}}, {3, Axis::none, {}}}, Role::lm_head),
        layer_tensor({{width, Axis::q_head, {}}}, Role::attention, "q"),
        one_by_one,
        packed};
    for (const TensorSpec& tensor : tensors) {
      const bool expert = tensor.role == Role::routed_expert;
      const int stage = job.pp - 1;
      const Layout layout = side->layout(tensor, stage, 2);
      for (int r = 0; r < job.ranks() / job.pp; ++r) {
        const Rank rank(7 + stage * (job.ranks() / job.pp) + r);
        const Sides sides = expert ? expert_oracle(job, tensor, r) : dense_oracle(job, tensor, r);
        const int index = index_of(layout, rank);
        REQUIRE(index >= 0);
        const std::vector<IntervalSet> shard = layout.shard(index);
        for (std::size_t d = 0; d < sides.size(); ++d) {
          CAPTURE(round, r, d, tensor.part);
          REQUIRE(rows_of(shard[d + 1]) == sides[d]);
          empty += sides[d].empty() ? 1 : 0;
        }
        ++checked;
      }
    }
  }
  REQUIRE(checked > 10'000);
  REQUIRE(empty > 500);  // else this would not speak of empty shards
}

}  // namespace refit::test
