// Precompiled headers belong to a library; this is all of it.
