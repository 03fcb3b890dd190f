// Plans that send changes: a share of each parcel's bytes travels, coded.
#include <catch2/catch.hpp>

#include "models/coding.h"
#include "schedule/builder.h"
#include "schedule/plan_hash.h"
#include "schedule/schedule_json.h"
#include "schedule/verify.h"
#include "tests/schedule/broken.h"
#include "tests/schedule/saved_plans.h"
#include "tests/support/m2n_case.h"

namespace refit::test {
namespace {

// Ranks 0 and 1 hold 10,000 bytes each of 20,000 rows; rank 2 needs all.
struct Question {
  Refit refit = make_refit({{1, 2, 0}, {1, 1, 0}, {20'000}});

  // Of rank 0's parcel 5 % travels, of rank 1's everything; two chunks of 5,000 rows each.
  Schedule plan() const {
    std::vector<Parcel> parcels = find_parcels(refit);
    for (Parcel& parcel : parcels) parcel.chunks = 2;
    parcels[0].share = 0.05;
    ScheduleBuilder builder(refit, "by hand", std::move(parcels), 2);
    builder.set_coding({Codec::conditioned, CodingPlace::host, 4, false});
    builder.begin_phase("delta");
    const OpId encoded = builder.compute({1, 0}, Work::encode, builder.group({Rank(0)}), 0, 10'000);
    for (int c = 0; c < 2; ++c) {
      builder.transfer({0, c}, Rank(0), Rank(2), builder.cargo({ParcelId(0)}), {c, c + 1},
                       {encoded});
    }
    builder.transfer({0, 2}, Rank(1), Rank(2), builder.cargo({ParcelId(1)}), {0, 2});
    return std::move(builder).finish();
  }
};

}  // namespace

TEST_CASE("coded: what travels is a share, no less than a header and no more than the content",
          "[schedule][coded]") {
  CHECK(wire_bytes(1, 1'000'000) == 1'000'000);
  CHECK(wire_bytes(0.01, 1'000'000) == 10'000);
  CHECK(wire_bytes(0.01, 1'000'001) == 10'001);  // rounded up
  CHECK(wire_bytes(0.01, 1'000) == 64);          // 10 bytes of changes under a header
  CHECK(wire_bytes(0.01, 40) == 40);             // shorter than a header: as it is
  CHECK(wire_bytes(0, 1'000) == 64);             // nothing changed, which must be said
  CHECK(wire_bytes(0.01, 0) == 0);
}

TEST_CASE("coded: no way to cut content in parts makes less of it travel", "[schedule][coded]") {
  for (const double share : {0.001, 0.0073, 0.05, 0.9}) {
    for (const std::int64_t whole : {1, 63, 130, 6'400, 999'983}) {
      for (std::int64_t part = 0; part <= whole; part += 1 + whole / 97) {
        CAPTURE(share, whole, part);
        CHECK(wire_bytes(share, part) + wire_bytes(share, whole - part) >=
              wire_bytes(share, whole));
      }
    }
  }
}

TEST_CASE("coded: an op's bytes are what travels, a phase's are content", "[schedule][coded]") {
  const Question question;
  const Schedule schedule = question.plan();
  CHECK(text_of(verify(schedule, question.refit)).empty());
  CHECK(schedule.ops[0].bytes == 10'000);  // dense bytes are gone through
  CHECK(schedule.ops[1].bytes == 250);     // 5 % of 5,000
  CHECK(schedule.ops[2].bytes == 250);
  CHECK(schedule.ops[3].bytes == 10'000);
  CHECK(schedule.phases[0].logical_bytes == 20'000);
}

TEST_CASE("coded: verify notices a wrong size, share or missing coding", "[schedule][coded]") {
  const Question question;
  const auto findings = [&](const Schedule& schedule) {
    return text_of(verify(schedule, question.refit));
  };
  Schedule schedule = question.plan();
  schedule.ops[2].bytes = 5'000;
  CHECK(findings(schedule) ==
        "op 2 (transfer 0 -> 2): says 5000 bytes, but its chunks travel as 250\n");
  schedule = question.plan();
  schedule.parcels[0].share = 0.06;
  CHECK(findings(schedule).find("says 250 bytes, but its chunks travel as 300") !=
        std::string::npos);
  schedule.parcels[0].share = -0.5;
  CHECK(findings(schedule) == "parcel 0: sends a share of -0.5; use 0 to 1\n");
  schedule = question.plan();
  schedule.coding.reset();
  CHECK(findings(schedule) == "parcel 0: sends a share of 0.05, but the plan says no coding\n");
  schedule.parcels[0].share = 1;
  CHECK(findings(schedule) == "op 0 (compute): is to encode, but the plan says no coding\n");
}

TEST_CASE("coded: a saved plan keeps its shares and its coding to the last bit",
          "[schedule][coded]") {
  SavedSchedule saved{"s", "scenario: s\n", Question().plan()};
  saved.schedule.parcels[0].share = 1.0 / 151.7;
  const std::string text = written(saved);
  CHECK(text.find("\"coding\": {\"codec\": \"conditioned\", \"place\": \"host\", \"cores\": 4, "
                  "\"staged\": false, \"changes_per_byte\": 0.005}") != std::string::npos);
  CHECK(read_schedule(text, "plan.json") == saved);
  // Parcels that travel as they are, and plans that code nothing, are written as ever.
  CHECK(text.find("\"share\"") == text.rfind("\"share\""));
  CHECK(written(small()).find("coding") == std::string::npos);

  const auto refused = [&](const std::string& from, const std::string& to) {
    std::string broken = text;
    const std::size_t at = broken.find(from);
    REQUIRE(at != std::string::npos);
    return error_of(broken.replace(at, from.size(), to));
  };
  CHECK(refused("\"share\": 0.", "\"share\": 9.") ==
        "plan.json: parcels[0].share: expected what travels of the bytes, 0 to 1, got "
        "9.00659195781147");
  CHECK(refused("\"conditioned\"", "\"zip\"") ==
        "plan.json: coding.codec: expected one of rice, conditioned, nemo_xor, nemo_overwrite, got "
        "'zip'");
  CHECK(refused("\"cores\": 4", "\"cores\": 0").starts_with("plan.json: coding.cores: "));
  CHECK(refused("\"staged\": false", "\"staged\": 0") ==
        "plan.json: coding.staged: expected true or false, got 0");
  CHECK(refused("\"staged\": false", "\"staged\": false, \"x\": 1")
            .starts_with("plan.json: coding: unknown member 'x'"));
  CHECK(refused("\"changes_per_byte\": 0.005", "\"changes_per_byte\": 2") ==
        "plan.json: coding.changes_per_byte: expected changes per byte of content, 0 to 1, got 2");
}

TEST_CASE("coded: shares and coding are in the hash of a plan", "[schedule][coded][hash]") {
  const Schedule plan = Question().plan();
  Schedule other = plan;
  other.parcels[0].share = 0.06;
  CHECK(plan_hash(other) != plan_hash(plan));
  other = plan;
  other.coding->codec = Codec::rice;
  CHECK(plan_hash(other) != plan_hash(plan));
  other = plan;
  other.coding->staged = true;
  CHECK(plan_hash(other) != plan_hash(plan));
  other = plan;
  other.coding->changes_per_byte = 0.01;
  CHECK(plan_hash(other) != plan_hash(plan));
}

}  // namespace refit::test
