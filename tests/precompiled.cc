// Nothing here: the target exists for the headers that it compiles once for all tests.
