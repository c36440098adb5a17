// The plan of a run: its shots, points and time steps, the groups of shots, the layout of its arrays, and the storage
// of its history. Integers only, the same on any device.
#ifndef SWEEP_ENGINE_PLAN_H
#define SWEEP_ENGINE_PLAN_H

#include "../history/plan.h"

namespace sweep {
inline namespace SWEEP_VARIANT {

inline int64_t sum(const int32_t* values, int count) {
  int64_t total = 0;
  for (int i = 0; i < count; ++i) total += values[i];
  return total;
}

// Shots and their groups. The shots of a group are summed one after the other, in the same order on any threads. Large
// grids form one group: all threads share the grid of one shot after the other, which also saves memory.
struct ShotGroups {
  int shots, groups;

  ShotGroups() = default;
  ShotGroups(const sweep_problem& p, ptrdiff_t cells) : shots(p.shots), groups(group_count(p, cells)) {}
  SWEEP_HD int group_of(int shot) const {
    return all_shots_per_launch ? shot : static_cast<int>(static_cast<int64_t>(shot) * groups / shots);
  }
  SWEEP_HD int group_begin(int group) const {
    return all_shots_per_launch ? group : static_cast<int>((static_cast<int64_t>(group) * shots + groups - 1) / groups);
  }

 private:
  static int group_count(const sweep_problem& p, ptrdiff_t cells) {
    constexpr int most = 16;
    constexpr ptrdiff_t large = 1 << 18;
    if (all_shots_per_launch || p.earths > 1) return p.shots;
    if (cells > large) return 1;
    return p.shots < most ? p.shots : most;
  }
};

// The snapshots of a problem.
template <int NDIM>
struct Snapshots {
  int every, times;
  int64_t fields;  // a bit for each
  Box<NDIM> region;

  explicit Snapshots(const sweep_problem& p) : fields(p.snapshot_fields) {
    every = p.snapshot_every < p.steps ? p.snapshot_every : p.steps;
    times = every ? (p.steps - 1) / every + 1 : 0;
    for (int a = 0; a < NDIM; ++a) {
      region.low[a] = every ? p.snapshot_low[a] : 0;
      region.high[a] = every ? p.snapshot_high[a] : 0;
    }
  }
  SWEEP_HD bool is_due(int k) const { return every && k % every == 0; }
  // Elements of one shot at one time.
  SWEEP_HD ptrdiff_t size() const {
    ptrdiff_t count = 0;
    for (int64_t f = fields; f; f >>= 1) count += f & 1;
    return count * region.cells();
  }
};

// A time step computes the values that one time index records: step k ends with fields at time k dt and, of fields at
// half steps, (k + 1/2) dt.
template <class Eq, int NDIM>
struct Plan : ShotGroups, HistoryPlan<Eq, NDIM> {
  static constexpr int ndim = NDIM;
  bool is_sliced;                // the run has several calls, so every shot has a state that waits for the next call
  ptrdiff_t sources, receivers;  // points of one shot

  Plan() = default;
  explicit Plan(const sweep_problem& p) : HistoryPlan<Eq, NDIM>(p) {
    static_cast<ShotGroups&>(*this) = {p, this->layout.cells};
    is_sliced = p.first > 0 || p.last < p.steps;
    sources = sum(p.source_points, SWEEP_MAX_FIELDS);
    receivers = sum(p.receiver_points, SWEEP_MAX_FIELDS);
  }
  // True if the shots of a group use the same images, one after the other, so that the group needs a sum.
  SWEEP_HD bool sums() const { return !all_shots_per_launch && !is_sliced && groups < shots; }
};

}  // namespace SWEEP_VARIANT
}  // namespace sweep
#endif
