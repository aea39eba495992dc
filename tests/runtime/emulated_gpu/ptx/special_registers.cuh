#pragma once

inline unsigned sm_id() {
  return blockIdx.x;
}
inline unsigned sm_id_count() {
  return gridDim.x;
}
