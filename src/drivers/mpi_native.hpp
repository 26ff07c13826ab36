// MPI's functions with the types of one binary form: H is int in the MPICH family, a pointer in Open
// MPI and in the ABI of MPI 5.  Handles come in as the library keeps them, as integers of 64 bits;
// where MPI writes handles or reads many, they are H.  Returns MPI's own error codes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ddstore.h"

namespace dds::mpi {

template <class H>
class Native {
public:
    explicit Native(const dds_mpi_table_t& table) : t_(table) {}

    static H handle(uint64_t kept);
    static uint64_t kept(H handle);

    int query_thread(int* level) const { return as<int(int*)>(t_.Query_thread)(level); }
    int comm_rank(uint64_t comm, int* rank) const
    {
        return as<int(H, int*)>(t_.Comm_rank)(h(comm), rank);
    }
    int comm_size(uint64_t comm, int* size) const
    {
        return as<int(H, int*)>(t_.Comm_size)(h(comm), size);
    }
    int comm_idup(uint64_t comm, void* made, void* request) const
    {
        return as<int(H, H*, H*)>(t_.Comm_idup)(h(comm), p(made), p(request));
    }
    int comm_free(uint64_t comm) const
    {
        H mine = h(comm);
        return as<int(H*)>(t_.Comm_free)(&mine);
    }
    int comm_return_errors(uint64_t comm) const
    {
        return as<int(H, H)>(t_.Comm_set_errhandler)(h(comm), h(t_.errors_return));
    }

    // MPI_Finalize deletes the attributes of MPI_COMM_SELF first of all, and calls `at_delete` with
    // `value` then.
    template <void (*at_delete)(void* value)>
    int when_self_goes(void* value) const;

    int ibarrier(uint64_t comm, void* request) const
    {
        return as<int(H, H*)>(t_.Ibarrier)(h(comm), p(request));
    }
    int iallgather(const void* in, int bytes, void* out, uint64_t comm, void* request) const
    {
        return as<int(const void*, int, H, void*, int, H, H, H*)>(t_.Iallgather)(
            in, bytes, byte(), out, bytes, byte(), h(comm), p(request));
    }
    int iallgatherv(const void* in, int bytes, void* out, const int* sizes, const int* places,
                    uint64_t comm, void* request) const
    {
        return as<int(const void*, int, H, void*, const int*, const int*, H, H, H*)>(
            t_.Iallgatherv)(in, bytes, byte(), out, sizes, places, byte(), h(comm), p(request));
    }
    int ialltoallv(const void* in, const int* in_sizes, const int* in_places, void* out,
                   const int* out_sizes, const int* out_places, uint64_t comm, void* request) const
    {
        return as<int(const void*, const int*, const int*, H, void*, const int*, const int*, H, H,
                      H*)>(t_.Ialltoallv)(in, in_sizes, in_places, byte(), out, out_sizes,
                                          out_places, byte(), h(comm), p(request));
    }
    int test(void* request, int* done) const
    {
        return as<int(H*, int*, void*)>(t_.Test)(p(request), done, t_.status_ignore);
    }
    int testsome(int n, void* requests, int* ended, int* which, void* statuses) const
    {
        return as<int(int, H*, int*, int*, void*)>(t_.Testsome)(n, p(requests), ended, which,
                                                                statuses);
    }

    int win_create(void* base, size_t bytes, uint64_t comm, void* made) const
    {
        return as<int(void*, intptr_t, int, H, H, H*)>(t_.Win_create)(
            base, static_cast<intptr_t>(bytes), 1, h(t_.info_null), h(comm), p(made));
    }
    int win_free(uint64_t win) const
    {
        H mine = h(win);
        return as<int(H*)>(t_.Win_free)(&mine);
    }
    int win_return_errors(uint64_t win) const
    {
        return as<int(H, H)>(t_.Win_set_errhandler)(h(win), h(t_.errors_return));
    }
    int win_lock_all(uint64_t win) const
    {
        return as<int(int, H)>(t_.Win_lock_all)(t_.mode_nocheck, h(win));
    }
    int win_unlock_all(uint64_t win) const { return as<int(H)>(t_.Win_unlock_all)(h(win)); }
    int win_sync(uint64_t win) const { return as<int(H)>(t_.Win_sync)(h(win)); }
    int rget(void* to, int bytes, int target, uint64_t at, uint64_t win, void* request) const
    {
        return as<int(void*, int, H, int, intptr_t, int, H, H, H*)>(t_.Rget)(
            to, bytes, byte(), target, static_cast<intptr_t>(at), bytes, byte(), h(win),
            p(request));
    }

private:
    template <class Function>
    static Function* as(dds_mpi_fn_t entry)
    {
        return reinterpret_cast<Function*>(entry);
    }
    static H h(uint64_t kept) { return handle(kept); }
    static H* p(void* handles) { return static_cast<H*>(handles); }
    H byte() const { return h(t_.byte); }

    static int copy_nothing(H, int, void*, void*, void*, int* copy)
    {
        *copy = 0;
        return 0;
    }
    template <void (*at_delete)(void*)>
    static int tell(H, int, void* value, void*)
    {
        at_delete(value);
        return 0;
    }

    const dds_mpi_table_t& t_;
};

template <>
inline int Native<int>::handle(uint64_t kept)
{
    return static_cast<int>(static_cast<uint32_t>(kept));
}
template <>
inline uint64_t Native<int>::kept(int handle)
{
    return static_cast<uint32_t>(handle);
}
template <>
inline void* Native<void*>::handle(uint64_t kept)
{
    return reinterpret_cast<void*>(kept);
}
template <>
inline uint64_t Native<void*>::kept(void* handle)
{
    return reinterpret_cast<uint64_t>(handle);
}

template <class H>
template <void (*at_delete)(void*)>
int Native<H>::when_self_goes(void* value) const
{
    using Copy = int(H, int, void*, void*, void*, int*);
    using Delete = int(H, int, void*, void*);
    int key = 0;
    if (const int code = as<int(Copy*, Delete*, int*, void*)>(t_.Comm_create_keyval)(
            &copy_nothing, &tell<at_delete>, &key, nullptr))
        return code;
    const int code = as<int(H, int, void*)>(t_.Comm_set_attr)(h(t_.comm_self), key, value);
    as<int(int*)>(t_.Comm_free_keyval)(&key);  // it goes when its attribute does
    return code;
}

}  // namespace dds::mpi
