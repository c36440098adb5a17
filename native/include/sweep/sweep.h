/* The C ABI of SWEEP's compiled kernels. libsweep_cpu and libsweep_cuda export the same functions.
 *
 * The library is stateless. Every array, workspace and history buffer belongs to the caller. Several threads, streams
 * and devices may call at the same time. docs/reference/abi.md states the rules in words. */
#ifndef SWEEP_SWEEP_H
#define SWEEP_SWEEP_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define SWEEP_EXPORT __declspec(dllexport)
#else
#define SWEEP_EXPORT __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define SWEEP_ABI_VERSION 7
#define SWEEP_MAX_AXES 3
#define SWEEP_MAX_FIELDS 62        /* of one equation */
#define SWEEP_MAX_COEFFICIENTS 128 /* of one equation; also the most rates */
#define SWEEP_MAX_TERMS 256        /* of one equation; also the most moduli */
#define SWEEP_MAX_BUFFERS 32
#define SWEEP_NAME_BYTES 32 /* bytes of a name, its final 0 included */
#define SWEEP_STATEMENT_BYTES 65
#define SWEEP_MAX_STEPS 1073741824 /* 2^30 */
#define SWEEP_MAX_ORDER 64
#define SWEEP_MAX_WEIGHTS (5 * SWEEP_MAX_ORDER / 2 + 1)

enum sweep_status {
  SWEEP_OK = 0,
  SWEEP_BAD_CALL = 1,    /* a struct, size or buffer does not fit the problem */
  SWEEP_BAD_VALUE = 2,   /* a position is outside the grid, or a coefficient is outside its range or not finite */
  SWEEP_UNSTABLE = 3,    /* a coefficient is above sweep_problem.coefficient_limit */
  SWEEP_UNSUPPORTED = 4, /* this library lacks the equation, operation, dimension, dtype or role of a face */
  SWEEP_CANCELLED = 5,   /* sweep_control.cancel was set */
  SWEEP_DEVICE = 6       /* the device is missing or failed */
};

/* How the adjoint gets the forward history. Boundary strips hold the fields along the PML, half a stencil wide. They
 * are the boundary values of a run of the interior backward in time from its last state. */
enum sweep_boundary {
  SWEEP_NO_STRIPS = 0, /* the history is stored, or recomputed from checkpoints */
  SWEEP_INTERIOR = 1,  /* from boundary strips; the PML has no history and its gradient is zero */
  SWEEP_EXACT = 2      /* from boundary strips; the PML is run forward again from its own checkpoints, between them */
};

enum sweep_dtype {
  SWEEP_FLOAT32,
  SWEEP_FLOAT64,
  SWEEP_BFLOAT16, /* this and the next two: in a history only */
  SWEEP_FLOAT16,  /* multiples of a scale; each block of 64 values has one scale */
  SWEEP_INT8      /* multiples of a scale; each block of 64 values has one scale */
};

/* The values beyond a face of the grid. */
enum sweep_face {
  SWEEP_ZERO,    /* zeros */
  SWEEP_SURFACE, /* a free surface; only the low face of the first axis, where pml_low is 0 */
  SWEEP_EXCHANGE /* cells of a neighbour, which fills them between stages; no library supports this yet */
};

/* One wave propagation problem and the slice of it that a call runs. The struct holds numbers only, so a compiler that
 * stores constants in its programs (XLA) may copy it as bytes. */
typedef struct sweep_problem {
  uint32_t bytes;                   /* sizeof(sweep_problem) */
  int32_t dtype;                    /* SWEEP_FLOAT32 or SWEEP_FLOAT64, of all buffers of type SWEEP_VALUES */
  int32_t ndim;                     /* 1 to 3 */
  int32_t order;                    /* spatial order, even, at most SWEEP_MAX_ORDER */
  int32_t shape[SWEEP_MAX_AXES];    /* cells along z; z, x; or z, y, x, with the PML */
  int32_t pml_low[SWEEP_MAX_AXES];  /* PML cells at the low face of each axis */
  int32_t pml_high[SWEEP_MAX_AXES]; /* PML cells at the high face of each axis */
  int32_t shots;                    /* number of shots of a call, at least 1 */
  int32_t earths;                   /* 1: all shots share the coefficients; or shots: each shot has its own */
  int32_t steps;                    /* nt: samples of wavelet and record, at most SWEEP_MAX_STEPS */
  int32_t first;                    /* this call runs the time indices [first, last) of 0 .. nt - 1 */
  int32_t last;                     /* the index behind the last one of this call */
  int32_t chunk;            /* 0: no history. Otherwise the steps of history in memory at once; nt - 1 or more holds
                               all of them, unless the history comes from boundary strips */
  int32_t source_traces;    /* traces of the wavelet, per shot */
  int32_t receiver_traces;  /* traces of the record, per shot */
  int32_t source_columns;   /* numbers in one sample of the wavelet, equally many for each trace; one column may have
                               points in many fields */
  int32_t receiver_columns; /* numbers in one sample of the record, equally many for each trace */
  int32_t source_points[SWEEP_MAX_FIELDS];   /* points of one shot in each field, equally many for each trace */
  int32_t receiver_points[SWEEP_MAX_FIELDS]; /* the same for receivers */
  int32_t face_low[SWEEP_MAX_AXES];          /* a sweep_face for the low face of each axis */
  int32_t face_high[SWEEP_MAX_AXES];         /* a sweep_face for the high face of each axis */
  int32_t snapshot_every;                    /* time indices between two snapshots, from index 0 on; 0: none */
  int32_t snapshot_low[SWEEP_MAX_AXES];      /* the snapshots contain the cells [low, high) of each axis */
  int32_t snapshot_high[SWEEP_MAX_AXES];     /* end of these cells */
  int32_t boundary;                          /* a sweep_boundary */
  int32_t stored;      /* dtype, or a sweep_dtype of less precision. With less precision the history of all steps is
                          stored, packed, and `chunk` is the number of steps that are packed at once */
  int32_t interval;    /* 1; n > 1 only for equations of second order in time. Then only every n-th step is stored and
                          imaged, and its image has the weight n */
  int32_t imaged_from; /* planes [0, imaged_from) of the first axis are not imaged: their gradient is undefined. A
                          history that is stored or recomputed lacks the planes that no image needs */
  int64_t snapshot_fields;  /* bit n: the snapshots contain field n */
  double coefficient_limit; /* the largest stable value of the first coefficient. The ratio of a larger value to this
                               limit is the square of dt over the largest stable dt */
  double dt;                /* time step in s; only messages use it */
  double spacing[SWEEP_MAX_AXES]; /* cell size along each axis in m; only messages use it */
  /* Stencil weights of each axis, one operator after another, with n = order / 2. First d[n] of the staggered
   * difference and d1[n] of the central first difference, then d2[n + 1] of the central second difference (its middle
   * weight comes first) and mean[n]. Last comes root[n] of R f[0] = root[0] (f[+1] - f[0]) + root[1] (f[0] - f[-1]) +
   * ...; R^T R is minus the second difference. The caller scales d, d1 and root by dt / dh, and d2 by its square (dh:
   * the cell size along the axis). */
  double weights[SWEEP_MAX_AXES][SWEEP_MAX_WEIGHTS];
  char equation[SWEEP_NAME_BYTES]; /* name of the equation, which ends in 0 */
} sweep_problem;

/* One array of the caller. */
typedef struct sweep_buffer {
  void* data;    /* in the memory of the device; may be null where the operation needs 0 bytes */
  int64_t bytes; /* size of the array, at least sweep_need.bytes */
} sweep_buffer;

/* Words that the caller and a running call share; they belong to the caller. */
typedef struct sweep_control {
  int32_t cancel;   /* the caller sets it to stop the run at the next step */
  int32_t progress; /* the library writes the last step that a shot has begun */
} sweep_control;

/* How a call runs. The struct and everything it points to belong to the caller. */
typedef struct sweep_context {
  uint32_t bytes;     /* sizeof(sweep_context) */
  int32_t threads;    /* CPU: the most threads to use, at least 1. CUDA: ignored */
  int32_t isa;        /* CPU: 0 for the best build that this processor runs, otherwise an index of sweep_isa() + 1 */
  int32_t everywhere; /* CPU: 1 to compute also cells that no wave can have reached; changes no bit; for timing */
  void* stream;       /* CUDA: a stream of the caller, on the device that holds the buffer `flag` */
  sweep_control* control; /* may be null */
  char* error;            /* receives an error message that ends in 0; may be null */
  int64_t error_bytes;    /* size of `error` */
} sweep_context;

enum sweep_operation { SWEEP_FORWARD, SWEEP_ADJOINT, SWEEP_BORN, SWEEP_OPERATIONS };

/* How an operation uses a buffer. */
enum sweep_role {
  SWEEP_NONE,   /* the operation has no such buffer */
  SWEEP_IN,     /* the operation reads it */
  SWEEP_OUT,    /* the operation writes it; a call that runs a slice writes its part of it */
  SWEEP_STATE,  /* the calls that run the slices of one run pass it on */
  SWEEP_SCRATCH /* working memory of one call */
};

/* The contents of a buffer. */
enum sweep_type {
  SWEEP_VALUES,  /* numbers of sweep_problem.dtype */
  SWEEP_INDICES, /* int32 */
  SWEEP_BYTES    /* bytes, in a layout that only the library knows */
};

/* One buffer of an operation. */
typedef struct sweep_need {
  int64_t bytes;               /* the smallest size that the operation accepts */
  int32_t role;                /* a sweep_role */
  int32_t type;                /* a sweep_type */
  char name[SWEEP_NAME_BYTES]; /* ends in 0 */
} sweep_need;

/* All buffers of an operation, in the order in which sweep_run expects them. */
typedef struct sweep_needs {
  uint32_t bytes;                       /* sizeof(sweep_needs) */
  int32_t count;                        /* number of buffers */
  sweep_need buffer[SWEEP_MAX_BUFFERS]; /* the first `count` are valid; buffers that are read come first */
} sweep_needs;

/* The operator that a rate applies to a field along an axis. */
enum sweep_operator {
  SWEEP_D,     /* staggered first difference; the result lies half a cell further */
  SWEEP_D1,    /* central first difference */
  SWEEP_D2,    /* central second difference */
  SWEEP_MEAN,  /* mean of the nodes around; the result lies half a cell further */
  SWEEP_SAME,  /* the field itself */
  SWEEP_CHANGE /* only of second order in time: 2 (u[k] - u[k - 1]) */
};

/* A compiled equation in 1 to 3 dimensions. The counts are zero if the library lacks that number of dimensions. */
typedef struct sweep_equation {
  uint32_t bytes;                        /* sizeof(sweep_equation) */
  int32_t fields;                        /* number of fields, at most SWEEP_MAX_FIELDS */
  int32_t coefficients;                  /* number of coefficients */
  int32_t levels;                        /* time levels of each field that a step reads or writes */
  int32_t memories;                      /* PML memory variables per axis */
  int32_t ndim_mask;                     /* bit n: the library holds the equation in n dimensions */
  int32_t reversible;                    /* 1: the equation can be run backward in time from boundary strips */
  char name[SWEEP_NAME_BYTES];           /* name of the equation, which ends in 0 */
  char statement[SWEEP_STATEMENT_BYTES]; /* SHA-256 of its tables in hexadecimal digits, which ends in 0. Python runs a
                                          * compiled equation only if this is that of its class */
} sweep_equation;

/* Functions that return int return a sweep_status. Text that they return belongs to the library. */

/* SWEEP_ABI_VERSION of the library. */
SWEEP_EXPORT int32_t sweep_abi_version(void);
/* SHA-256 of the native sources of the library, in hexadecimal digits; see sweep_core.native.library.source_id. */
SWEEP_EXPORT const char* sweep_build_id(void);
/* Fill `values` with sizeof of each struct above, in order, and then the offset of the last member of each. At most
 * `count` values are written. Return the number of values that there are. */
SWEEP_EXPORT int32_t sweep_layout(int64_t* values, int32_t count);
/* Return the name of build `index` ("avx512", ...), or null past the end. The CPU library orders its builds from plain
 * to best. */
SWEEP_EXPORT const char* sweep_isa(int32_t index);
/* Return the index of the build that isa = 0 selects on this processor, or -1 if no device can run the library. */
SWEEP_EXPORT int32_t sweep_isa_default(void);
/* Describe compiled equation `index` in `ndim` (1 to 3) dimensions; out->bytes must be set. Return SWEEP_UNSUPPORTED
 * past the end. */
SWEEP_EXPORT int sweep_describe(int32_t index, int32_t ndim, sweep_equation* out);
/* Return in `out` the buffers of a sweep_operation on a problem; out->bytes must be set. */
SWEEP_EXPORT int sweep_buffers(const sweep_problem*, int32_t operation, sweep_needs* out, const sweep_context*);
/* Run the operation on `count` buffers, in the order of sweep_buffers. */
SWEEP_EXPORT int sweep_run(const sweep_problem*, int32_t operation, const sweep_buffer*, int32_t count,
                           const sweep_context*);

#ifdef __cplusplus
}
#endif
#endif
