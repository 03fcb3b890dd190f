// Megatron-FSDP's buffers written out element by element: parameters as lists of checkpoint rows,
// buffers as lists of elements.
#include <catch2/catch.hpp>

#include <map>
#include <numeric>

#include "tests/models/fsdp_case.h"

namespace refit::test {
namespace {

// One row of a checkpoint tensor, or the columns of it that a tensor parallel rank has.
struct Row {
  int tensor = -1;  // -1: padding
  std::int64_t expert = 0, row = 0, first_column = 0;
};

struct Matrix {
  std::vector<Row> rows;
  std::int64_t width = 0;
  std::int64_t size() const { return static_cast<std::int64_t>(rows.size()) * width; }
};

struct Element {
  Row row;
  std::int64_t column = 0;
};

// Puts matrices down as the rules say, in a buffer that grows.
class Buffer {
 public:
  Buffer(std::vector<Matrix> matrices, int ranks) {
    std::stable_sort(matrices.begin(), matrices.end(),
                     [](const Matrix& a, const Matrix& b) { return a.width > b.width; });
    grid_ = matrices.front().width;
    for (const Matrix& m : matrices) {
      const bool smaller = m.size() < grid_;
      const bool whole_cells = grid_ % m.width == 0 && m.size() % grid_ == 0;
      if (!smaller && !whole_cells) grid_ = std::lcm(grid_, m.width);
    }
    std::vector<Matrix> large, small;
    for (Matrix& m : matrices) (m.size() < grid_ ? small : large).push_back(std::move(m));
    std::int64_t end = 0;
    while (!large.empty()) {
      const Matrix m = large.front();
      large.erase(large.begin());
      lay(m, end);
      std::int64_t at = end + m.size();
      if (at % grid_ == 0) {
        end = at;
        continue;
      }
      end = at + grid_ - at % grid_;  // of the cell
      std::int64_t until = end;       // the gap is [at, until)
      for (std::size_t k = 0; k < large.size(); ++k) {
        const std::int64_t head = large[k].size() % grid_;
        if (head == 0 || head > until - at) continue;
        lay(large[k], end - head);
        until = end - head;
        end += large[k].size() - head;
        large.erase(large.begin() + static_cast<std::ptrdiff_t>(k));
        break;
      }
      for (std::size_t k = 0; k < small.size();) {
        if (small[k].size() > until - at) {
          ++k;
          continue;
        }
        lay(small[k], at);
        at += small[k].size();
        small.erase(small.begin() + static_cast<std::ptrdiff_t>(k));
      }
    }
    for (const Matrix& m : small) {
      lay(m, end);
      end += m.size();
    }
    while (end % (grid_ * ranks) != 0) ++end;
    elements_.resize(static_cast<std::size_t>(end));
    each_ = end / ranks;
  }

  std::vector<Element> of_rank(int rank) const {
    std::vector<Element> mine;
    for (std::int64_t e = rank * each_; e < (rank + 1) * each_; ++e)
      mine.push_back(elements_[static_cast<std::size_t>(e)]);
    return mine;
  }

 private:
  void lay(const Matrix& m, std::int64_t at) {
    elements_.resize(std::max(elements_.size(), static_cast<std::size_t>(at + m.size())));
    for (const Row& row : m.rows) {
      for (std::int64_t c = 0; c < m.width; ++c)
        elements_[static_cast<std::size_t>(at++)] = {row, row.first_column + c};
    }
  }

  std::int64_t grid_ = 1, each_ = 0;
  std::vector<Element> elements_;
};

struct Small {
  int q_heads, kv_heads, head_dim;
  std::int64_t hidden, width, expert_width;
  int experts, tp, ep, replicate, shards;
};

enum Tensor {
  q,
  k,
  v,
  o,
  norm_in,
  norm_post,
  router,
  gate,
  up,
  down,
  shared_gate,
  shared_up,
  shared_down,
  tensors
};

ModelSpec model_of(const Small& s) {
  const TensorDim hidden{s.hidden, Axis::none, {}}, experts{s.experts, Axis::expert, {}},
      width{s.expert_width, Axis::ffn, {}}, shared{s.width, Axis::ffn, {}};
  const TensorDim q_rows{s.q_heads * s.head_dim, Axis::q_head, {}},
      kv_rows{s.kv_heads * s.head_dim, Axis::kv_head, {}};
  std::vector<TensorSpec> list(tensors);
  list[q] = layer_tensor({q_rows, hidden}, Role::attention, "q");
  list[k] = layer_tensor({kv_rows, hidden}, Role::attention, "k");
  list[v] = layer_tensor({kv_rows, hidden}, Role::attention, "v");
  list[o] = layer_tensor({hidden, q_rows}, Role::attention, "o");
  list[norm_in] = layer_tensor({hidden}, Role::norm);
  list[norm_post] = layer_tensor({hidden}, Role::norm);
  list[router] = layer_tensor({{s.experts, Axis::none, {}}, hidden}, Role::router, "router");
  list[gate] = layer_tensor({experts, width, hidden}, Role::routed_expert, "gate");
  list[up] = layer_tensor({experts, width, hidden}, Role::routed_expert, "up");
  list[down] = layer_tensor({experts, hidden, width}, Role::routed_expert, "down");
  list[shared_gate] = layer_tensor({shared, hidden}, Role::shared_expert, "gate");
  list[shared_up] = layer_tensor({shared, hidden}, Role::shared_expert, "up");
  list[shared_down] = layer_tensor({hidden, shared}, Role::shared_expert, "down");
  for (int t = 0; t < tensors; ++t) {
    list[static_cast<std::size_t>(t)].name = std::to_string(t);
    if (on_expert_grid(list[static_cast<std::size_t>(t)]))
      list[static_cast<std::size_t>(t)].experts = s.experts;
  }
  list[norm_post].name = "post_attention_layernorm";
  ModelSpec model = one_layer(std::move(list));
  model.experts = s.experts;
  model.heads = {.q_heads = s.q_heads, .kv_heads = s.kv_heads, .head_dim = s.head_dim};
  return model;
}

// Rows of a tensor, with all columns or a tensor parallel rank's.
void append(Matrix& m, int tensor, std::int64_t begin, std::int64_t end,
            std::int64_t first_column = 0, std::int64_t expert = 0) {
  for (std::int64_t row = begin; row < end; ++row)
    m.rows.push_back({tensor, expert, row, first_column});
}

// Of tensor parallel rank t: its part of the parameters outside experts, as modules list them.
std::vector<Matrix> dense(const Small& s, int t) {
  const auto matrix = [](std::int64_t width) { return Matrix{{}, width}; };
  Matrix in = matrix(1), proj = matrix(s.q_heads * s.head_dim / s.tp), qkv = matrix(s.hidden),
         post = matrix(1), gates = matrix(s.hidden), fc1 = matrix(s.hidden),
         fc2 = matrix(s.width / s.tp);
  append(in, norm_in, 0, s.hidden);
  append(proj, o, 0, s.hidden, t * proj.width);
  const int groups = s.kv_heads / s.tp, per_group = s.q_heads / s.kv_heads, d = s.head_dim;
  for (int g = t * groups; g < (t + 1) * groups; ++g) {
    append(qkv, q, g * per_group * d, (g + 1) * per_group * d);
    append(qkv, k, g * d, (g + 1) * d);
    append(qkv, v, g * d, (g + 1) * d);
  }
  append(post, norm_post, 0, s.hidden);
  append(gates, router, 0, s.experts);
  const std::int64_t each = s.width / s.tp;
  append(fc1, shared_gate, t * each, (t + 1) * each);
  append(fc1, shared_up, t * each, (t + 1) * each);
  append(fc2, shared_down, 0, s.hidden, t * each);
  return {in, proj, qkv, post, gates, fc1, fc2};
}

std::vector<Matrix> experts_of(const Small& s, int ep) {
  std::vector<Matrix> all;
  const int each = s.experts / s.ep;
  for (int e = ep * each; e < (ep + 1) * each; ++e) {
    Matrix fc1{{}, s.hidden};
    append(fc1, gate, 0, s.expert_width, 0, e);
    append(fc1, up, 0, s.expert_width, 0, e);
    all.push_back(fc1);
  }
  for (int e = ep * each; e < (ep + 1) * each; ++e) {
    Matrix fc2{{}, s.expert_width};
    append(fc2, down, 0, s.hidden, 0, e);
    all.push_back(fc2);
  }
  return all;
}

using Place = std::array<std::int64_t, 3>;  // expert, row, column
using Held = std::map<int, std::vector<Place>>;

Held sorted(Held held) {
  for (auto& [tensor, places] : held) std::sort(places.begin(), places.end());
  return held;
}

Held oracle(const Small& s, int rank, const std::vector<Buffer>& dense_buffers,
            const std::vector<Buffer>& expert_buffers) {
  const int in_copy = rank % (s.shards * s.tp);
  Held held;
  const auto take = [&](const std::vector<Element>& elements) {
    for (const Element& e : elements) {
      if (e.row.tensor >= 0) held[e.row.tensor].push_back({e.row.expert, e.row.row, e.column});
    }
  };
  take(dense_buffers[static_cast<std::size_t>(in_copy % s.tp)].of_rank(in_copy / s.tp));
  take(expert_buffers[static_cast<std::size_t>(in_copy % s.ep)].of_rank(in_copy / s.ep));
  return sorted(held);
}

Held by_layout(const Parallelism& side, const ModelSpec& model, Rank rank) {
  Held held;
  for (int t = 0; t < tensors; ++t) {
    const TensorSpec& spec = model.tensors[static_cast<std::size_t>(t)];
    const bool expert = on_expert_grid(spec);
    for (const LayoutPart& part : side.layout_parts(spec, 0, 1)) {
      const auto sets = part.layout.shard(index_of(part.layout, rank));
      const Rows first = rows_of(part.rows);
      for (const std::int64_t a : rows_of(sets[1])) {
        if (!expert && sets.size() == 2) held[t].push_back({0, a, 0});
        for (std::size_t d = 2; d < 3 && d < sets.size(); ++d) {
          for (const std::int64_t b : rows_of(sets[2])) {
            if (!expert) held[t].push_back({0, a, b});
            if (!expert) continue;
            for (const std::int64_t c : rows_of(sets[3]))
              held[t].push_back({first[static_cast<std::size_t>(a)], b, c});
          }
        }
      }
    }
  }
  return sorted(held);
}

}  // namespace

TEST_CASE("megatron_fsdp: random layers hold what the buffers hold, element by element",
          "[models][megatron_fsdp][oracle]") {
  const unsigned seed = 4711;
  CAPTURE(seed);
  std::mt19937 random(seed);
  const auto pick = [&](std::vector<int> of) {
    return of[random() % static_cast<unsigned>(of.size())];
  };
  int compared = 0, refused = 0, parts = 0;
  for (int round = 0; round < 250; ++round) {
    Small s{};
    s.tp = pick({1, 1, 2});
    s.ep = pick({1, 2, 4});
    s.kv_heads = pick({2, 4});
    s.q_heads = s.kv_heads * pick({1, 2, 3});
    s.head_dim = pick({1, 2, 3});
    s.hidden = pick({4, 6, 8, 12});
    s.width = pick({2, 4, 6, 10});
    s.expert_width = pick({2, 3, 5, 8});
    s.experts = pick({4, 8});
    s.replicate = pick({1, 1, 2});
    s.shards = pick({1, 2, 3, 5, 6});
    if (s.shards * s.tp % s.ep != 0) continue;
    const ModelSpec model = model_of(s);
    const int gpus = s.replicate * s.shards * s.tp;
    std::unique_ptr<Parallelism> side;
    const std::string message =
        refusal([&] { side = megatron_fsdp(model, flat_on(gpus, s.ep, s.tp, s.replicate)); });
    if (!message.empty()) {
      // Small matrices may lie anywhere in a cell.
      REQUIRE(message.find("falls inside a row") != std::string::npos);
      ++refused;
      continue;
    }
    std::vector<Buffer> dense_buffers, expert_buffers;
    for (int t = 0; t < s.tp; ++t) dense_buffers.emplace_back(dense(s, t), s.shards);
    for (int e = 0; e < s.ep; ++e)
      expert_buffers.emplace_back(experts_of(s, e), s.shards * s.tp / s.ep);
    for (int rank = 0; rank < gpus; ++rank) {
      CAPTURE(round, rank, s.tp, s.ep, s.shards);
      REQUIRE(by_layout(*side, model, Rank(rank)) ==
              oracle(s, rank, dense_buffers, expert_buffers));
      ++compared;
    }
    parts += side->layout_parts(model.tensors[gate], 0, 1).size() > 1 ? 1 : 0;
  }
  REQUIRE(compared > 500);
  REQUIRE(parts > 40);
  REQUIRE(refused < 100);
}

}  // namespace refit::test
