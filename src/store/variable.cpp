#include "store/variable.hpp"

#include <algorithm>

namespace dds {

void Variable::map()
{
    const Partition& cut = *partition;
    mapped.total = static_cast<uint64_t>(cut.total());
    mapped.row = static_cast<size_t>(disp) * itemsize;
    mapped.bases = bases.data();
    mapped.starts = cut.starts();
    mapped.buckets = cut.buckets();
    mapped.shift = static_cast<uint8_t>(cut.shift());
    mapped.shards = cut.shards();
    mapped.kind = cut.kind();
    mapped.whole =
        std::none_of(places.begin(), places.end(), [](const Place& p) { return p.wired; });
    if (cut.shards() > 0)
        mapped.base0 = mapped.base1 = bases[0];
    if (cut.shards() > 1) {
        mapped.base1 = bases[1];
        mapped.split = cut.start(1);
    }
    mapped.tiny = mapped.row > 0 && mapped.row <= DDS_TINY_ROW && cut.shards() > 0 &&
                  cut.kind() != Partition::Kind::skewed;
    if (!mapped.tiny)
        return;
    const bool own = mapped.own >= 0;
    mapped.cut = {
        mapped.total,
        static_cast<uint64_t>(own ? cut.start(mapped.own) : 0),
        static_cast<uint64_t>(own ? cut.start(mapped.own + 1) - cut.start(mapped.own) : 0),
        mapped.shards,
        mapped.shift,
        mapped.buckets,
        mapped.starts,
        reinterpret_cast<const char* const*>(mapped.bases),
        reinterpret_cast<const char*>(mapped.base0),
        mapped.base1 - mapped.base0,
        mapped.split};
}

std::shared_ptr<Variable> Variable::twin() const
{
    auto v = std::make_shared<Variable>();
    v->name = name;
    v->id = id;
    v->order = order;
    v->type = type;
    v->flags = flags;
    v->disp = disp;
    v->itemsize = itemsize;
    v->shape = shape;
    v->meta = meta;
    v->partition = partition;
    v->places = places;
    v->bases = bases;
    v->in_place = in_place;
    v->wired_somewhere = wired_somewhere;
    v->own_rows = own_rows;
    v->version = version.load();
    v->mapped.own = mapped.own;
    v->mapped.profiled = mapped.profiled;
    return v;
}

size_t Variable::table_bytes() const
{
    return sizeof *this + places.capacity() * sizeof(Place) +
           bases.capacity() * sizeof(const std::byte*) + meta.capacity() + name.capacity();
}

}  // namespace dds
