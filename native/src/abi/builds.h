// Every build of a library, from the lists in sweep_builds.h that CMake writes: SWEEP_EVERY_VARIANT(X) is X(variant)
// ..., plain to best; SWEEP_EVERY_TABLE(X) is X(variant, equation) ...; SWEEP_TABLES_OF_<variant>(X) those of one
// variant. A file that includes this one defines SWEEP_RUNS_<variant>, the function that tells if this machine runs the
// variant.
#ifndef SWEEP_ABI_BUILDS_H
#define SWEEP_ABI_BUILDS_H

#include "sweep_builds.h"
#include "table.h"

namespace sweep {

#define SWEEP_DECLARE(variant, equation) \
  namespace variant {                    \
  namespace equation {                   \
  extern const Table table;              \
  }                                      \
  }
SWEEP_EVERY_TABLE(SWEEP_DECLARE)

namespace {
#define SWEEP_COPY(variant, equation) variant::equation::table,
#define SWEEP_TABLES(variant)                                                      \
  const Table* tables_##variant() {                                                \
    static const Table tables[] = {SWEEP_TABLES_OF_##variant(SWEEP_COPY) Table{}}; \
    return tables;                                                                 \
  }
SWEEP_EVERY_VARIANT(SWEEP_TABLES)
}  // namespace

#define SWEEP_BUILD(variant) {#variant, SWEEP_RUNS_##variant, tables_##variant},
const Build builds[] = {SWEEP_EVERY_VARIANT(SWEEP_BUILD)};
const int build_count = sizeof(builds) / sizeof(builds[0]);

}  // namespace sweep
#endif
