// dlopen with the rules of the house: what the name may be is checked here, so that no caller can
// make the loader look in the current directory.
#include "base/dynlib.hpp"

#include <dlfcn.h>
#include <link.h>

#include <utility>

namespace dds {
namespace {

const char* loader_says()
{
    const char* text = dlerror();
    return text ? text : "no reason given";
}

const link_map* object_of(const void* address)
{
    Dl_info info;
    link_map* map = nullptr;
    if (!dladdr1(address, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP))
        return nullptr;
    return map;
}

}  // namespace

Dynlib::Dynlib(void* handle, std::string name) : handle_(handle), name_(std::move(name)) {}

Dynlib::Dynlib(Dynlib&& other) noexcept
    : handle_(std::exchange(other.handle_, nullptr)),
      name_(std::move(other.name_)),
      kept_(other.kept_)
{
}

Dynlib& Dynlib::operator=(Dynlib&& other) noexcept
{
    std::swap(handle_, other.handle_);
    std::swap(name_, other.name_);
    std::swap(kept_, other.kept_);
    return *this;
}

Dynlib::~Dynlib()
{
    if (handle_ && !kept_)
        dlclose(handle_);
}

Result<Dynlib> Dynlib::open(const std::string& name)
{
    // A name with a slash that is not absolute would be found from the current directory; an empty
    // one is the program itself; a NUL would cut the name short of what was checked.
    const bool path = name.find('/') != std::string::npos;
    if (name.empty() || name.find('\0') != std::string::npos || (path && name[0] != '/'))
        return fail(DDS_ERR_ARG, "library '%s': neither a bare name nor an absolute path",
                    name.c_str());
    void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        return fail(DDS_ERR_NOTFOUND, "library %s: %s", name.c_str(), loader_says());
    return Dynlib(handle, name);
}

std::optional<Dynlib> Dynlib::held(const char* name)
{
    // What is there already is bound as its loader wanted it: RTLD_NOW changes nothing in it.
    void* handle = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    if (!handle)
        return std::nullopt;
    return Dynlib(handle, name ? name : "of the program");
}

std::vector<std::string> Dynlib::all_held()
{
    std::vector<std::string> names;
    dl_iterate_phdr(
        [](dl_phdr_info* info, size_t, void* to) {
            if (info->dlpi_name && *info->dlpi_name)
                static_cast<std::vector<std::string>*>(to)->emplace_back(info->dlpi_name);
            return 0;
        },
        &names);
    return names;
}

std::string Dynlib::file_of(const void* address)
{
    Dl_info info;
    return dladdr(address, &info) && info.dli_fname ? info.dli_fname : "";
}

void* Dynlib::find(const char* name) const { return dlsym(handle_, name); }

void* Dynlib::find(const char* name, const char* version) const
{
    return dlvsym(handle_, name, version);
}

void* Dynlib::find_own(const char* name) const
{
    void* at = dlsym(handle_, name);
    link_map* map = nullptr;
    if (!at || dlinfo(handle_, RTLD_DI_LINKMAP, &map) || object_of(at) != map)
        return nullptr;
    return at;
}

Result<void*> Dynlib::symbol(const char* name) const
{
    void* at = dlsym(handle_, name);
    if (!at)
        return fail(DDS_ERR_NOTFOUND, "library %s has no %s", name_.c_str(), name);
    return at;
}

}  // namespace dds
