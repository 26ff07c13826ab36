// A library found at run time: bare soname or absolute path, RTLD_NOW | RTLD_LOCAL, never the current
// directory.  Closed with the object unless kept.
#pragma once

#include <string>

#include "base/result.hpp"

namespace dds {

class Dynlib {
public:
    static Result<Dynlib> open(const std::string& name);  // NOTFOUND has the loader's own words
    Dynlib(Dynlib&& other) noexcept;
    Dynlib& operator=(Dynlib&& other) noexcept;
    ~Dynlib();

    Result<void*> symbol(const char* name) const;  // NOTFOUND names library and symbol
    void keep() { kept_ = true; }  // it has threads or exit handlers: never unload it

private:
    explicit Dynlib(void* handle, std::string name);
    void* handle_;
    std::string name_;
    bool kept_ = false;
};

}  // namespace dds
