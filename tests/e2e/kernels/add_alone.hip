// The kernel `add` of captured.hip without headers and libraries, which there need not be for newer
// versions of code objects.
__attribute__((global)) void add(const float *a, const float *b, float *c, int n) {
  const int i =
      static_cast<int>(__builtin_amdgcn_workgroup_id_x() * __builtin_amdgcn_workgroup_size_x() +
                       __builtin_amdgcn_workitem_id_x());
  if (i < n) c[i] = a[i] * 1.1f + b[i];
}
