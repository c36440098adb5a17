// One equation in one build: the functions to which the library dispatches.
#ifndef SWEEP_ABI_TABLE_H
#define SWEEP_ABI_TABLE_H

#include "sweep/sweep.h"

namespace sweep {

// The functions compiled for a dtype, a number of dimensions and an order.
struct Calls {
  int (*buffers)(const sweep_problem&, int operation, sweep_needs*, const sweep_context*);
  int (*run)(const sweep_problem&, int operation, const sweep_buffer*, const sweep_context*);
};

struct Table {
  const char* name;
  void (*describe)(int ndim, sweep_equation*);
  int (*find)(const sweep_problem&, const sweep_context*, Calls*);  // checks a problem and finds its calls
};

// A build for one instruction set (CPU) or for a GPU.
struct Build {
  const char* name;
  bool (*runs)();            // true if this machine can run the build
  const Table* (*tables)();  // the last one has no name
};

// Defined by builds.h, plain to best.
extern const Build builds[];
extern const int build_count;

}  // namespace sweep
#endif
