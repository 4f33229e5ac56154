// The precompiled headers of this room belong to a library; this is all of it.
