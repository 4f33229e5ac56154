// One of two parts of a code object.
kernel void first(global int *data, int value) { *data = value; }
