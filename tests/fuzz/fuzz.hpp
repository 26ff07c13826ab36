// What a fuzz target offers besides libFuzzer's entry.
#pragma once

#include <cstddef>

// How often the input was taken as something valid: a fuzzer whose inputs are all refused at the door
// tests the door.
int inputs_taken(const unsigned char* data, size_t size);
