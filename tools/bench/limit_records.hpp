// The limit of finding a job and a variable by its records: the same files are opened, read whole,
// checksummed and closed, and nothing is made of them.
#pragma once

#include <string>

namespace bench {

class Records {
public:
    // Of the one job that is in `directory`, or exits.
    explicit Records(std::string directory);
    ~Records();
    Records(const Records&) = delete;
    Records& operator=(const Records&) = delete;

    void open();  // the directory; not yet
    void close();
    void read_core() const { read(core_); }
    void read_variable(const char* name) const { read(std::string(name) + ".bin"); }

private:
    void read(const std::string& file) const;

    std::string path_, core_;
    int directory_ = -1;
};

}  // namespace bench
