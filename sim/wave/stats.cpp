#include "wave/stats.h"

namespace fade::sim {

void DispatchStats::add(const DispatchStats &o) {
  for (size_t i = 0; i < classes.size(); i++) {
    classes[i].waves += o.classes[i].waves;
    classes[i].lanes += o.classes[i].lanes;
  }
  waves += o.waves;
  global_bytes_read += o.global_bytes_read, global_bytes_written += o.global_bytes_written;
  lds_bytes_read += o.lds_bytes_read, lds_bytes_written += o.lds_bytes_written;
  barriers += o.barriers;
  l2_write_backs += o.l2_write_backs;
  compiled += o.compiled;
}

DispatchStats::Count DispatchStats::total() const {
  Count t;
  for (const Count &c : classes) t.waves += c.waves, t.lanes += c.lanes;
  return t;
}

} // namespace fade::sim
