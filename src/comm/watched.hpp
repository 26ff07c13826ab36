// An operation that says once, after 30 s, whom it waits for.
#pragma once

#include <cstdint>

#include "base/wait.hpp"

namespace dds {

class Watched : public Operation {
public:
    // `words` tells who is missing; it is asked when it is time to say so.
    template <class Words>
    Watched(Operation& operation, const char* what, const Words& words)
        : operation_(operation),
          what_(what),
          words_(&words),
          ask_([](const void* ask) { return (*static_cast<const Words*>(ask))(); })
    {
    }
    Result<Step> step() override;
    void park(int64_t ns) override { operation_.park(ns); }

private:
    Operation& operation_;
    const char* what_;
    const void* words_;
    std::string (*ask_)(const void*);
    int64_t begun_ = 0;
    bool told_ = false;
};

}  // namespace dds
