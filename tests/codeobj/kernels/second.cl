// The other one.
kernel void second(global long *data) { *data = 2; }
kernel void third(global long *data, long a, long b) { *data = a + b; }
