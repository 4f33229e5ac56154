// The precompiled headers of the tests belong to a program; this is all of it.
int main() {}
