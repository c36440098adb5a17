// The plan of a run: which shots, receivers and time steps it has, how its shots are grouped, where its arrays lie and
// how its history is kept. Pure integers, the same on any device.
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

// Shots, and the groups that they are cut into. Shots of a group are summed one after the other in the same order,
// whoever runs them. Large grids are shared out in space instead, one shot after the other: one group, which also
// saves memory.
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

// The wavefields that are handed out.
template <int NDIM>
struct Snapshots {
  int every, times, fields;
  Box<NDIM> region;

  explicit Snapshots(const sweep_problem& p) : fields(p.snapshot_fields) {
    every = p.snapshot_every < p.steps ? p.snapshot_every : p.steps;
    times = every ? (p.steps - 1) / every + 1 : 0;
    for (int a = 0; a < NDIM; ++a) {
      region.low[a] = every ? p.snapshot_low[a] : 0;
      region.high[a] = every ? p.snapshot_high[a] : 0;
    }
  }
  SWEEP_HD bool wanted(int k) const { return every && k % every == 0; }
  // Elements of one shot at one time.
  SWEEP_HD ptrdiff_t size() const {
    ptrdiff_t count = 0;
    for (int f = fields; f; f >>= 1) count += f & 1;
    return count * region.cells();
  }
};

// A time step makes the values that one time index records: step k leaves k dt and, of fields at half steps,
// (k + 1/2) dt.
template <class Eq, int NDIM>
struct Plan : ShotGroups, HistoryPlan<Eq, NDIM> {
  bool sliced;                   // the run is not made in one call: states wait for the next
  ptrdiff_t sources, receivers;  // points of one shot

  Plan() = default;
  explicit Plan(const sweep_problem& p) : HistoryPlan<Eq, NDIM>(p) {
    static_cast<ShotGroups&>(*this) = {p, this->layout.cells};
    sliced = p.first > 0 || p.last < p.steps;
    sources = sum(p.source_points, SWEEP_MAX_FIELDS);
    receivers = sum(p.receiver_points, SWEEP_MAX_FIELDS);
  }
  // The images of a group, where its shots follow each other in one.
  SWEEP_HD bool sums() const { return !all_shots_per_launch && !sliced && groups < shots; }
};

}  // namespace SWEEP_VARIANT
}  // namespace sweep
#endif
