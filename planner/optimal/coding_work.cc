#include "planner/optimal/coding_work.h"

#include <algorithm>
#include <span>

namespace refit {
namespace {

constexpr std::int64_t kPieces = 8;  // that a rank's work is cut into

}  // namespace

CodingWork::CodingWork(const Refit& refit, const std::vector<Content>& contents,
                       const Coding& coding, int lane, ScheduleBuilder& builder)
    : refit_(refit),
      contents_(contents),
      coding_(coding),
      lane_(lane),
      builder_(builder),
      bytes_(contents.size()) {}

std::int64_t CodingWork::content_bytes(std::int32_t content, std::int32_t chunk) {
  const auto c = static_cast<std::size_t>(content);
  std::vector<std::int64_t>& bytes = bytes_[c];
  if (bytes.empty()) {
    bytes.assign(static_cast<std::size_t>(contents_[c].chunks), 0);
    for (const ParcelId id : contents_[c].parcels) {
      for (std::size_t i = 0; i < bytes.size(); ++i)
        bytes[i] += chunk_bytes(refit_, builder_.parcels()[id.index()], static_cast<int>(i));
    }
  }
  return bytes[static_cast<std::size_t>(chunk)];
}

void CodingWork::will_send(Rank owner, std::int32_t content, std::int32_t chunk) {
  const Chunk key{owner, content, chunk};
  if (!encoded_.try_emplace(key, OpId{}).second) return;
  sends_[owner].push_back({key, {}, content_bytes(content, chunk)});
}

void CodingWork::arrives(Rank demander, std::int32_t content, std::int32_t chunk, OpId transfer) {
  arrivals_[demander].push_back(
      {{demander, content, chunk}, transfer, content_bytes(content, chunk)});
}

OpId CodingWork::encoded(Rank owner, std::int32_t content, std::int32_t chunk) const {
  return encoded_.at({owner, content, chunk});
}

template <class Each>
void CodingWork::for_each_piece(const std::map<Rank, Steps>& steps, const Each& each) {
  std::map<Rank, std::size_t> done;
  for (std::int64_t piece = 0; piece < kPieces; ++piece) {
    for (const auto& [rank, all] : steps) {
      std::int64_t whole = 0;
      for (const Step& step : all) whole += step.bytes;
      std::size_t& next = done[rank];
      const std::size_t begin = next;
      std::int64_t before = 0;
      for (std::size_t i = 0; i < begin; ++i) before += all[i].bytes;
      std::int64_t bytes = 0;
      while (next < all.size() && (before + bytes) * kPieces < whole * (piece + 1))
        bytes += all[next++].bytes;
      if (piece + 1 == kPieces) {
        for (; next < all.size(); ++next) bytes += all[next].bytes;
      }
      if (next > begin) each(rank, std::span(all).subspan(begin, next - begin), bytes);
    }
  }
}

void CodingWork::add_encoding() {
  for_each_piece(sends_, [&](Rank rank, std::span<const Step> piece, std::int64_t bytes) {
    const GroupId alone = builder_.group({rank});
    const auto count = static_cast<std::int64_t>(piece.size());
    int& round = rounds_[rank];
    builder_.compute({lane_, round++}, Work::scan, alone, count, bytes);
    const OpId coded = builder_.compute({lane_, round++}, Work::encode, alone, count, bytes);
    for (const Step& step : piece) encoded_[step.chunk] = coded;
  });
}

void CodingWork::add_decoding(GroupId world) {
  std::map<std::int64_t, std::vector<Rank>> to_apply;  // by bytes: all these ranks at once
  for_each_piece(arrivals_, [&](Rank rank, std::span<const Step> piece, std::int64_t bytes) {
    const GroupId alone = builder_.group({rank});
    const auto count = static_cast<std::int64_t>(piece.size());
    std::vector<OpId> after;
    for (const Step& step : piece) after.push_back(step.transfer);
    std::sort(after.begin(), after.end());
    int& round = rounds_[rank];
    builder_.compute({lane_, round++}, Work::decode, alone, count, bytes, after);
    if (!coding_.staged) builder_.compute({lane_, round++}, Work::apply, alone, count, bytes);
  });
  if (!coding_.staged) return;
  for (const auto& [rank, steps] : arrivals_) {
    std::int64_t bytes = 0;
    for (const Step& step : steps) bytes += step.bytes;
    to_apply[bytes].push_back(rank);
  }
  builder_.barrier(world);
  builder_.begin_phase("apply");
  const int round = builder_.next_round(lane_);
  for (const auto& [bytes, ranks] : to_apply)
    builder_.compute({lane_, round}, Work::apply, builder_.group(ranks), 1, bytes);
}

}  // namespace refit
