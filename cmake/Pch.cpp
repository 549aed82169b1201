// The precompiled header needs a source file.
