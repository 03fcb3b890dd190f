#pragma once

#include "validation/row_case.h"

namespace refit::detail {

// Whether the row tells of changes, or of a whole checkpoint, sent between clusters through an
// object store or a relay tree.
bool is_between_clusters(const PublishedRow& row);

// Its scenario. These rows give neither layouts nor machines of both sides; what is published of
// that testbed stands in (docs/systems.md#between-clusters), and they are predicted with the
// network model of the testbed, which no fit has seen.
std::variant<RowCase, RowSkip> delta_row_case(const PublishedRow& row);

}  // namespace refit::detail
