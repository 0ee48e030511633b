// small_objects.cc - the ways of C++ to get an object of 8 bytes and give it back, a million times. CSV.
//
// Compiled twice, see classics.hh. Without Boost the lines of boost::object_pool are left out, it says so.
#include "classics.hh"
#include <cstdlib>
#include <vector>
#if __has_include(<boost/pool/object_pool.hpp>)
#include <boost/pool/object_pool.hpp>
#define HAVE_BOOST 1
#else
#define HAVE_BOOST 0
#endif

namespace
{

struct object {
    int x, y;
};

constexpr int OBJECTS = 1000000;
constexpr const char *PART = KEPT ? "kept" : "optimised";

template <typename Run> void line(const char *variant, long count, Run run)
{
    measure("small", variant, PART, count, run);
}

// One array for all objects. Its second pass finds the pages there that the first one had to fault in.
void fill(object *objects)
{
    for (int i = 0; i < OBJECTS; i++) {
        object *o = &objects[i];
        *o = object{i, i};
        keep(o);
    }
}

// Allocates, lets `use` write to it, frees; as often as there are objects.
template <typename Alloc, typename Use, typename Free> void pairs(Alloc alloc, Use use, Free give_back)
{
    for (int i = 0; i < OBJECTS; i++) {
        object *o = alloc();
        use(o, i);
        keep(o);
        give_back(o);
    }
}

void through_value(object *o, int i) { *o = object{i, i}; }

void through_pointer(object *o, int i)
{
    o->x = i;
    o->y = i;
}

void through_reference(object *o, int i)
{
    object &r = *o;
    r.x = i;
    r.y = i;
}

object *malloc_object() { return static_cast<object *>(std::malloc(sizeof(object))); }
void free_object(object *o) { std::free(o); }

void arrays()
{
    object *objects = nullptr;
    line("new[] once", OBJECTS, [&] {
        objects = new object[OBJECTS];
        fill(objects);
    });
    line("new[] once (second pass)", OBJECTS, [&] { fill(objects); });
    delete[] objects;

    line("malloc of an array once", OBJECTS, [&] {
        objects = static_cast<object *>(std::malloc(OBJECTS * sizeof(object)));
        fill(objects);
    });
    line("malloc of an array once (second pass)", OBJECTS, [&] { fill(objects); });
    std::free(objects);
}

#if HAVE_BOOST
// Built first, then destroyed one by one: destroy() keeps its free list in address order, and searches it.
void built_first(const char *variant, int count, bool oldest_first)
{
    boost::object_pool<object> pool;
    std::vector<object *> objects;
    for (int i = 0; i < count; i++)
        objects.push_back(pool.construct(object{i, i}));
    line(variant, count, [&] {
        for (int i = 0; i < count; i++)
            pool.destroy(objects[static_cast<std::size_t>(oldest_first ? i : count - 1 - i)]);
    });
}
#endif

void object_pool()
{
#if HAVE_BOOST
    boost::object_pool<object> pool;
    line("boost::object_pool", OBJECTS,
        [&] { pairs([&] { return pool.construct(); }, through_value, [&](object *o) { pool.destroy(o); }); });
    built_first("object_pool: destroy 10000 newest first", 10000, false);
    built_first("object_pool: destroy 10000 oldest first", 10000, true);
    built_first("object_pool: destroy 20000 oldest first", 20000, true);
#else
    std::fprintf(stderr, "skipped: boost::object_pool, no Boost here; type: apt-get install libboost-dev\n");
#endif
}

} // namespace

int main()
{
    arrays();
    line("new/delete", OBJECTS,
        [] { pairs([] { return new object; }, through_value, [](object *o) { delete o; }); });
    line("malloc/free", OBJECTS, [] { pairs(malloc_object, through_value, free_object); });
    object_pool();
    line(
        "malloc/free through a pointer", OBJECTS, [] { pairs(malloc_object, through_pointer, free_object); });
    line("malloc/free through a reference", OBJECTS,
        [] { pairs(malloc_object, through_reference, free_object); });
}
