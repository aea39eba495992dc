// What version 3 changes in a file of version 2:
//
//   problem   an index by which the neighbours of a problem are found

#include "cache/sqlite/migration_3.h"

namespace tunedgemm {

Migration migration_to_version_3() {
  return {
      "CREATE INDEX problem_neighbours ON problem (type_a, type_b, type_d, order_a, order_b, beta, "
      "bias, activation, numerics, m, n, k, batch);\n"};
}

}  // namespace tunedgemm
