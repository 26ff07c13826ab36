#include "node/identity.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "base/env.hpp"
#include "base/fd.hpp"

namespace dds {
namespace {

// 128 bits of FNV-1a: identities are compared, not attacked (peers check each other's user id).
NodeId digest(const std::string& text)
{
    unsigned __int128 hash =
        (static_cast<unsigned __int128>(0x6c62272e07bb0142u) << 64) | 0x62b821756295c58du;
    const unsigned __int128 prime = (static_cast<unsigned __int128>(0x1000000u) << 64) | 0x13b;
    for (const char c : text)
        hash = (hash ^ static_cast<unsigned char>(c)) * prime;
    NodeId id;
    memcpy(id.data(), &hash, sizeof id);
    return id;
}

}  // namespace

Result<NodeId> node_identity()
{
    if (const auto named = env::text("DDSTORE_NODE"))
        return digest("named:" + *named);
    const Fd file(open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
    if (!file && (errno == EMFILE || errno == ENFILE))
        return fail_errno(errno, "/proc/sys/kernel/random/boot_id");
    char text[64];
    const ssize_t n = file ? read(file.get(), text, sizeof text) : -1;
    const std::string boot(text, n > 0 ? static_cast<size_t>(n) : 0);
    struct stat net;
    if (boot.empty() || stat("/proc/self/ns/net", &net) != 0)
        return fail(DDS_ERR_UNSUPPORTED,
                    "cannot tell which node this is without /proc "
                    "(boot_id and ns/net); set DDSTORE_NODE to the node's name");
    return digest(boot + ":" + std::to_string(net.st_dev) + ":" + std::to_string(net.st_ino));
}

}  // namespace dds
