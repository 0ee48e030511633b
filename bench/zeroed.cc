// zeroed.cc - the ways of C++ to get zeroed memory and give it back. CSV. Compiled twice, see classics.hh.
#include "classics.hh"
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace
{

constexpr const char *KIND = KEPT ? "kept" : "optimised";

// 100,000 times; fewer where that would be more than 200 MB to clear.
long times(std::size_t bytes) { return static_cast<long>(std::min<std::size_t>(100000, 200000000 / bytes)); }

template <typename Once> void line(const char *variant, std::size_t bytes, Once once)
{
    std::string name = std::string(KIND) + " " + variant;
    measure("zeroed", name.c_str(), std::to_string(bytes).c_str(), times(bytes), [&] {
        for (long i = 0; i < times(bytes); i++)
            once();
    });
}

void new_memset(std::size_t bytes)
{
    char *memory = new char[bytes];
    std::memset(memory, 0, bytes);
    keep(memory);
    delete[] memory;
}

void calloc_free(std::size_t bytes)
{
    void *memory = std::calloc(1, bytes);
    keep(memory);
    std::free(memory);
}

void vector(std::size_t bytes)
{
    std::vector<char> memory(bytes);
    char *data = memory.data();
    keep(data);
}

} // namespace

int main()
{
    for (std::size_t bytes = 100; bytes <= 1000000; bytes *= 10) {
        line("new + memset", bytes, [=] { new_memset(bytes); });
        line("calloc + free", bytes, [=] { calloc_free(bytes); });
        line("std::vector", bytes, [=] { vector(bytes); });
    }
}
