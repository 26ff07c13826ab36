// A library found at run time: bare soname or absolute path, RTLD_NOW | RTLD_LOCAL, never the current
// directory; or one that the process holds already.  Closed with the object unless kept.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace dds {

class Dynlib {
public:
    static Result<Dynlib> open(const std::string& name);  // NOTFOUND has the loader's own words
    // What this process holds already, and nothing else: loads nothing.  NULL is the program.
    static std::optional<Dynlib> held(const char* name);
    static std::vector<std::string> all_held();       // names for held(), without the program
    static std::string file_of(const void* address);  // the object that it lies in; empty: none
    Dynlib(Dynlib&& other) noexcept;
    Dynlib& operator=(Dynlib&& other) noexcept;
    ~Dynlib();

    Result<void*> symbol(const char* name) const;  // NOTFOUND names library and symbol
    void* find(const char* name) const;      // there or in what it is linked with; NULL: nowhere
    void* find_own(const char* name) const;  // there alone
    void* find(const char* name, const char* version) const;  // that version of it
    void keep() { kept_ = true; }  // it has threads or exit handlers: never unload it

private:
    explicit Dynlib(void* handle, std::string name);
    void* handle_;
    std::string name_;
    bool kept_ = false;
};

}  // namespace dds
