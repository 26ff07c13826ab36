// What a rank of a FileComm knows of its group: the directory, its own place, the run.  It reads and
// writes whole, checked files; what they mean is decided in file_meeting and file_gather.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "comm/directory.hpp"
#include "comm/file_format.hpp"

namespace dds::filecomm {

struct Group {
    Directory directory{};
    std::string path;  // as the user gave them, also for texts
    std::string ns;
    std::string space;  // as it stands in file names
    int rank, size;
    Nonce nonce;  // this rank's
    Process process;
    std::array<char, 64> job{};
    Nonce run{};           // rank 0's nonce, once the ranks have met
    Nonce acknowledged{};  // the call that this rank's hello names
    bool arrived = false;  // this rank's hello was written

    struct Message {
        Header header;
        std::vector<std::byte> body;
    };
    // A file as it was written, or none: absent, not whole yet, or of no use to us.  What was wrong
    // with it is kept in `doubt` for the error of a deadline that passes, until it reads well.  A
    // body of more than `most` bytes is left out.
    Result<std::optional<Message>> read(const std::string& name, Kind kind, uint64_t most);
    Result<void> write(const std::string& name, Header& header, std::span<const std::byte> body);

    struct Greeting {
        Header header;
        Hello hello;
    };
    Result<std::optional<Greeting>> read_hello(int rank);
    Result<void> write_hello();
    // A complaint about another's claim to a place: that hello, and what is wrong with it.
    Result<std::optional<Greeting>> read_clash(int rank);
    Result<void> write_clash(const Greeting& about, const Nonce& run, const Error& error);

    // This rank cannot go on: its own hello, which has its space already, becomes the others' news.
    void announce(const Error& error);
    Result<void> heard();  // the error that another rank announced

    // Remove what is this rank's own; the last rank to leave also removes what is everybody's.
    void leave();

    struct Doubt {
        std::string name;
        Error error;
    };
    std::optional<Doubt> doubt{};

private:
    Greeting greeting() const;
    Result<std::optional<Greeting>> read_greeting(const std::string& name, int rank);
};

// "rank 1 of 'train' in /scratch/run"
std::string in_words(const Group& group, int rank);

}  // namespace dds::filecomm
