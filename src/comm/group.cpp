#include "comm/group.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace dds::filecomm {
namespace {

std::span<const std::byte> bytes_of(const auto& object)
{
    return std::as_bytes(std::span(&object, 1));
}

void put_text(Hello& hello, const std::string& text)
{
    hello.text = {};
    std::memcpy(hello.text.data(), text.data(), std::min(text.size(), hello.text.size() - 1));
}

}  // namespace

std::string in_words(const Group& group, int rank)
{
    return "rank " + std::to_string(rank) + " of '" + group.ns + "' in " + group.path;
}

Result<std::optional<Group::Message>> Group::read(const std::string& name, Kind kind, uint64_t most)
{
    const auto refuse = [&](int code, const char* why) {
        doubt = Doubt{name, fail(code, "%s %s", directory.in_words(name).c_str(), why)};
        return std::optional<Message>();
    };
    DDS_LET(file, directory.open_file(name));
    if (!file)
        return std::optional<Message>();
    Message message;
    DDS_LET(begun,
            directory.read(*file, 0, std::as_writable_bytes(std::span(&message.header, 1)), name));
    if (!begun)
        return refuse(DDS_ERR_CORRUPT, "is not whole");
    const Verdict verdict = examine(message.header);
    if (verdict == Verdict::other_version)
        return refuse(DDS_ERR_VERSION, "was written by another version of the library");
    if (verdict == Verdict::damaged || message.header.kind != kind)
        return refuse(DDS_ERR_CORRUPT, "is damaged or of another kind");
    if (file->bytes != sizeof(Header) + message.header.body_bytes)
        return refuse(DDS_ERR_CORRUPT, "is not whole");
    if (message.header.body_bytes > most)
        return std::optional<Message>(std::move(message));
    message.body.resize(message.header.body_bytes);
    DDS_LET(ended, directory.read(*file, sizeof(Header), message.body, name));
    if (!ended)
        return refuse(DDS_ERR_CORRUPT, "is not whole");
    if (!whole(message.header, message.body))
        return refuse(DDS_ERR_CORRUPT, "is damaged");
    if (doubt && doubt->name == name)
        doubt.reset();
    return std::optional<Message>(std::move(message));
}

Result<void> Group::write(const std::string& name, Header& header, std::span<const std::byte> body)
{
    seal(header, body);
    return directory.write(name, bytes_of(header), body);
}

Result<std::optional<Group::Greeting>> Group::read_hello(int of)
{
    return read_greeting(hello_name(space, of), of);
}

Result<std::optional<Group::Greeting>> Group::read_clash(int of)
{
    return read_greeting(clash_name(space, of), of);
}

Result<std::optional<Group::Greeting>> Group::read_greeting(const std::string& name, int of)
{
    DDS_LET(message, read(name, Kind::hello, sizeof(Hello)));
    if (!message || message->body.size() != sizeof(Hello) || message->header.rank != of)
        return std::optional<Greeting>();
    Greeting greeting{message->header, {}};
    std::memcpy(&greeting.hello, message->body.data(), sizeof(Hello));
    return std::optional<Greeting>(greeting);
}

Group::Greeting Group::greeting() const
{
    Greeting mine{make_header(Kind::hello, rank, size), {}};
    mine.header.run = acknowledged;
    mine.hello.nonce = nonce;
    mine.hello.process = process;
    mine.hello.job = job;
    return mine;
}

Result<void> Group::write_hello()
{
    Greeting mine = greeting();
    DDS_TRY(write(hello_name(space, rank), mine.header, bytes_of(mine.hello)));
    arrived = true;
    return {};
}

Result<void> Group::write_clash(const Greeting& about, const Nonce& of_run, const Error& error)
{
    Greeting complaint = about;
    complaint.header.run = of_run;
    complaint.header.status = error.code;
    complaint.header.status_rank = error.rank;
    put_text(complaint.hello, error.text);
    return write(clash_name(space, rank), complaint.header, bytes_of(complaint.hello));
}

void Group::announce(const Error& error)
{
    if (!arrived)
        return;
    Greeting last = greeting();
    // A deadline is everybody's; what only stops this rank is the loss of a peer for the others.
    const bool shared = error.code != DDS_ERR_INTERRUPTED && error.code != DDS_ERR_STATE;
    last.header.status = shared ? error.code : DDS_ERR_PEER;
    last.header.status_rank = error.rank >= 0 ? error.rank : rank;
    put_text(last.hello, "rank " + std::to_string(rank) + " gave up: " + error.text);
    seal(last.header, bytes_of(last.hello));
    std::vector<std::byte> whole_file;
    for (const auto piece : {bytes_of(last.header), bytes_of(last.hello)})
        whole_file.insert(whole_file.end(), piece.begin(), piece.end());
    // Best effort: the file system may be what failed.
    const std::string name = hello_name(space, rank);
    if (directory.overwrite(name, whole_file) && run != Nonce{})
        static_cast<void>(directory.rename(name, fail_name(space)));
}

Result<void> Group::heard()
{
    if (!directory.exists(fail_name(space)))
        return {};
    DDS_LET(message, read(fail_name(space), Kind::hello, sizeof(Hello)));
    if (!message || message->body.size() != sizeof(Hello) || message->header.run != run)
        return {};
    return error_of(message->header, std::span(message->body).subspan(offsetof(Hello, text)));
}

void Group::leave()
{
    const auto place = read_hello(rank);
    // The last words of a rank that could not go on stay until rank 0 has read them.
    const bool met = run != Nonce{};
    if (place && *place && (*place)->hello.nonce == nonce && (met || !(*place)->header.status))
        directory.remove(hello_name(space, rank));
    if (!met && rank == 0) {
        const auto call = read(call_name(space), Kind::call, 0);
        if (call && *call && (*call)->header.run == nonce)
            directory.remove(call_name(space));
    }
    // Each rank looks after its own hello is gone, so at least the last one finds none.
    if (!met || !directory.list(space + ".hello.", 1).empty())
        return;
    for (const std::string& prefix : {run_prefix(space, run), clash_prefix(space)})
        for (const std::string& name : directory.list(prefix))
            directory.remove(name);
    if (directory.exists(fail_name(space)) && !heard())
        directory.remove(fail_name(space));
}

}  // namespace dds::filecomm
