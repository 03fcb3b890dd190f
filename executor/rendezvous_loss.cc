#include <algorithm>

#include <fmt/format.h>

#include "executor/rendezvous.h"
#include "executor/run_rank.h"

namespace refit {

using detail::FrameKind;

namespace {

constexpr double kFlushSeconds = 0.2;

}  // namespace

double Rendezvous::patience_s(double now) const {
  return options_.patience_s(lateness_.worst_s(now));
}

void Rendezvous::look_for_the_absent(double now) {
  if (now - start_s_ < options_.start_timeout_s) return;
  std::string missing;
  for (std::size_t r = 0; r < members_.size(); ++r)
    if (members_[r].state == State::absent ||
        (members_[r].state == State::present && !members_[r].greeted))
      missing += fmt::format("{}{}", missing.empty() ? "" : ", ", r);
  if (missing.empty()) return;
  fail({.rank = Rank(0),
        .phase = {},
        .move = {},
        .code = ErrorCode::environment,
        .reason = fmt::format("rank(s) {} of {} have not come to the rendezvous within {} s",
                              missing, members_.size(), options_.start_timeout_s)});
}

void Rendezvous::look_for_the_lost(double now) {
  const double patience = patience_s(now);
  for (std::size_t r = 0; r < members_.size(); ++r) {
    const Member& member = members_[r];
    if (member.state != State::present || !member.greeted) continue;
    const Rank rank(static_cast<int>(r));
    if (now - member.heard_s > options_.silence_s() + patience)
      return lose(rank, ErrorCode::environment,
                  fmt::format("not heard from for {:.2f} s", now - member.heard_s));
    if (now - member.turned_s > options_.stall_timeout_s + patience)
      return lose(rank, ErrorCode::environment,
                  fmt::format("its loop has not turned for {:.1f} s", now - member.turned_s));
  }
  if (!suspicions_.empty() && now > suspicions_end_s_) fail(most_suspected());
}

// All at once, so that no message of one can have been on its way to another: what was sent and had
// not arrived was under way, and then its sender did not stand still.
void Rendezvous::look_for_standstill(double now) {
  double from_s = 0, to_s = now;
  const Member* first = nullptr;  // in the oldest move
  for (const Member& member : members_) {
    if (member.state == State::finished || member.state == State::dropped) continue;
    if (member.state != State::present) return;
    from_s = std::max(from_s, member.still_from_s);
    to_s = std::min(to_s, member.still_to_s);
    if (member.beat.phase == RankPhase::moving && (!first || member.beat.move < first->beat.move))
      first = &member;
  }
  if (!first || to_s - from_s <= options_.stall_timeout_s + patience_s(now)) return;
  Failure failure;
  failure.rank = Rank(static_cast<int>(first - members_.data()));
  failure.phase = RankPhase::moving;
  if (first->beat.move != ~std::uint64_t{0})
    failure.move = static_cast<std::uint32_t>(first->beat.move);
  failure.code = ErrorCode::check_failed;
  failure.reason = fmt::format(
      "for {:.1f} s every rank has only waited for another and nothing was under way: the ops wait "
      "for each other",
      to_s - from_s);
  fail(std::move(failure));
}

// What a rank says about itself is so; about another, somebody may know better in a moment.
void Rendezvous::suspect(Rank witness, Failure seen) {
  const bool is_rank = seen.rank.value >= 0 && seen.rank.index() < members_.size();
  if (!is_rank) return;
  if (seen.rank == witness || members_[seen.rank.index()].state == State::dropped)
    return fail(std::move(seen));
  const double now = steady_clock_s();
  if (suspicions_.empty())
    suspicions_end_s_ = now + options_.suspicion_s() + lateness_.worst_s(now);
  suspicions_.push_back({witness, std::move(seen)});
}

// The rank that is an end of most of the broken connections; of two, the one that did not tell,
// until others say whom they reach.
Failure Rendezvous::most_suspected() {
  std::vector<int> broken(members_.size(), 0);
  for (const Suspicion& s : suspicions_) {
    ++broken[s.witness.index()];
    ++broken[s.failure.rank.index()];
  }
  const int most = *std::ranges::max_element(broken);
  const auto told = std::ranges::find_if(
      suspicions_, [&](const Suspicion& s) { return broken[s.failure.rank.index()] == most; });
  Failure failure = told != suspicions_.end() ? told->failure : suspicions_.front().failure;
  if (told == suspicions_.end()) {
    failure.rank = std::ranges::find_if(suspicions_, [&](const Suspicion& s) {
                     return broken[s.witness.index()] == most;
                   })->witness;
  }
  failure.phase = members_[failure.rank.index()].beat.phase;
  const Suspicion& first = suspicions_.front();
  if (broken[first.witness.index()] == broken[first.failure.rank.index()] && most == 1)
    in_doubt_ = {first.witness, first.failure.rank};
  return failure;
}

// The one that more of the others can't reach.
void Rendezvous::resolve_doubt() {
  if (!in_doubt_) return;
  const auto [witness, suspect] = *in_doubt_;
  in_doubt_.reset();
  int votes = 0;
  for (std::size_t r = 0; r < reports_.size(); ++r) {
    const Rank voter(static_cast<int>(r));
    if (voter == witness || voter == suspect || !reports_[r]) continue;
    for (const Rank rank : reports_[r]->unreachable)
      votes += rank == witness ? 1 : rank == suspect ? -1 : 0;
  }
  if (votes <= 0) return;
  failure_->rank = witness;
  failure_->phase = members_[witness.index()].beat.phase;
}

void Rendezvous::lose(Rank rank, ErrorCode code, std::string reason) {
  fail({.rank = rank,
        .phase = members_[rank.index()].beat.phase,
        .move = {},
        .code = code,
        .reason = std::move(reason)});
}

void Rendezvous::fail(Failure failure) {
  if (failure_) return;
  failure_ = std::move(failure);
  noticed_s_ = steady_clock_s();
  reports_end_s_ = noticed_s_ + options_.timeout_s + patience_s(noticed_s_);
  std::string suspects;
  if (in_doubt_) {
    detail::put(suspects, in_doubt_->first);
    detail::put(suspects, in_doubt_->second);
  }
  for (Member& member : members_) send(member, FrameKind::stop, suspects);
}

bool Rendezvous::all_reported() const {
  for (std::size_t r = 0; r < members_.size(); ++r) {
    const bool expected = members_[r].state == State::present &&
                          (in_doubt_ || Rank(static_cast<int>(r)) != failure_->rank);
    if (expected && !reports_[r]) return false;
  }
  return true;
}

bool Rendezvous::can_go_on() const {
  // Wrong content or wrong input is no loss: there, going on would hide a mistake.
  if (went_on_ || !hooks_->drop || failure_->code != ErrorCode::environment) return false;
  std::optional<std::int32_t> iteration;
  for (std::size_t r = 0; r < members_.size(); ++r) {
    if (Rank(static_cast<int>(r)) == failure_->rank) continue;
    if (members_[r].state != State::present || !reports_[r] || !reports_[r]->resumable)
      return false;
    if (iteration.value_or(*reports_[r]->resumable) != *reports_[r]->resumable) return false;
    iteration = reports_[r]->resumable;
  }
  return iteration.has_value();
}

void Rendezvous::go_on() {
  name_the_move();
  hooks_->drop(failure_->rank);
  Member& lost = members_[failure_->rank.index()];
  lost.socket.close();
  lost.unsent.clear();
  lost.state = State::dropped;
  Verdict verdict{*failure_, noticed_s_, {}};
  for (const auto& report : reports_) {
    verdict.reports.push_back(report.value_or(RankReport{}));
    verdict.reports.back().open.clear();
  }
  // Whatever a survivor has sent before its report belongs to what is over.
  const std::string body = encode(verdict);
  for (Member& member : members_) {
    member.blob.reset();
    member.arrived = false;
    send(member, FrameKind::go_on, body);
  }
  reports_.assign(members_.size(), std::nullopt);
  suspicions_.clear();
  failure_.reset();
  went_on_ = true;
}

// The op that the lost rank was in: what the others had open with it, else what it said itself.
void Rendezvous::name_the_move() {
  if (!failure_->move) {
    for (const auto& report : reports_) {
      if (!report) continue;
      for (const RankReport::Open& open : report->open) {
        if (open.peer == failure_->rank && (!failure_->move || open.move < *failure_->move))
          failure_->move = open.move;
      }
    }
  }
  if (!failure_->move && failure_->rank.value >= 0 && failure_->rank.index() < members_.size()) {
    const Beat& beat = members_[failure_->rank.index()].beat;
    if (beat.phase == RankPhase::moving && beat.move != ~std::uint64_t{0})
      failure_->move = static_cast<std::uint32_t>(beat.move);
  }
}

Failure Rendezvous::close() {
  name_the_move();
  // A move of the survivors' own plan means nothing to who knows the first plan only.
  if (went_on_ && members_[failure_->rank.index()].state != State::dropped) failure_->move.reset();
  // A TCP connection closed with bytes unread (beats) is reset, and the verdict might be lost: wait
  // until the others have closed, but not for one that does not answer.
  const double now = steady_clock_s();
  const double end = now + kFlushSeconds + patience_s(now);
  for (Member& member : members_) send(member, FrameKind::verdict, encode(*failure_));
  std::vector<bool> told;
  for (const Member& member : members_) told.push_back(static_cast<bool>(member.socket));
  while (steady_clock_s() < end) {
    // Ranks that come late must hear it, too: a connection that nobody takes is reset.
    if (reception_)
      for (auto& guest : reception_->look()) introduce(std::move(guest));
    bool any = false;
    for (std::size_t r = 0; r < members_.size(); ++r) {
      Member& member = members_[r];
      any = any || (reception_ && member.state == State::absent);
      if (!member.socket) continue;
      if (!told[r]) send(member, FrameKind::verdict, encode(*failure_));
      told[r] = true;
      flush(member);
      if (!member.reader.fill(member.socket.get())) member.socket.close();
      // Also for one that has not reported yet: what it sends on its way here would be the reset.
      const bool may_answer = reports_[r] || Rank(static_cast<int>(r)) != failure_->rank;
      any = any || (member.socket && (may_answer || !member.unsent.empty()));
    }
    if (!any) break;
    wait(kFlushSeconds / 10);
  }
  for (Member& member : members_) member.socket.close();
  reception_.reset();
  return *failure_;
}

}  // namespace refit
