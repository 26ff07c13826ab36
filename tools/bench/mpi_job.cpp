#include "mpi_job.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "control.hpp"
#include "hosts.hpp"
#include "process.hpp"

namespace bench {
namespace {

namespace fs = std::filesystem;

struct Known {
    const char* name;
    std::vector<const char*> says;  // one of these, in the answer to mpirun --version
    std::vector<const char*> libraries;
};
const Known kKnown[] = {
    {"openmpi", {"Open MPI)", "OpenRTE)"}, {"libmpi.so.40"}},
    {"mpich", {"HYDRA"}, {"libmpich.so.12", "libmpi.so.12"}},
};

std::string version_of(const fs::path& program)
{
    std::string text;
    if (FILE* pipe = popen(("'" + program.string() + "' --version 2>&1 </dev/null").c_str(), "r")) {
        char some[4096];
        for (size_t n; (n = fread(some, 1, sizeof some, pipe)) > 0;)
            text.append(some, n);
        pclose(pipe);
    }
    return text;
}

// Beside that mpirun, or where the dynamic linker looks.
std::string library_of(const fs::path& program, const Known& mpi)
{
    std::error_code ignored;
    const fs::path prefix = fs::canonical(program, ignored).parent_path().parent_path();
    for (const char* folder : {"lib", "lib64"})
        for (const char* library : mpi.libraries)
            if (const fs::path file = prefix / folder / library; fs::exists(file, ignored))
                return file;
    for (const char* library : mpi.libraries)
        if (void* loaded = dlopen(library, RTLD_LAZY | RTLD_LOCAL)) {
            dlclose(loaded);
            return library;
        }
    return {};
}

std::vector<std::string> options_of(const std::string& name, const std::string& version)
{
    if (name != "openmpi")
        return {};
    // The ranks pin themselves.
    std::vector<std::string> list = {"--oversubscribe", "--bind-to", "none"};
    if (geteuid() == 0)
        list.push_back("--allow-run-as-root");
    if (version.find(") 4.") != std::string::npos)  // with osc/ucx it makes no windows
        list.insert(list.end(), {"--mca", "osc", "^ucx"});
    return list;
}

// On hosts of this machine's own, which a tool of the source tree makes.
std::optional<MpiJob> find_hosts(const std::string& name, const Options& options)
{
    std::error_code ignored;
    const fs::path source =
        fs::canonical("/proc/self/exe", ignored).parent_path().parent_path().parent_path();
    const fs::path wheels = source / ".venv/mpi";
    Words command = hosts_program("run.py");
    const bool open_mpi = name == kMpis[0];
    const fs::path mpich = wheels / "mpich/lib/libmpi.so.12";
    if (!open_mpi && !fs::exists(mpich, ignored))
        return {};
    command.insert(command.end(), {"--wheels", wheels, "--mpi", open_mpi ? "openmpi4" : "mpich5",
                                   "--hosts", std::to_string(options.hosts), "--ranks",
                                   std::to_string(options.ranks), "--timeout", "36000", "--"});
    return MpiJob{command, open_mpi ? kKnown[0].libraries[0] : mpich.string()};
}

}  // namespace

std::optional<MpiJob> find_mpi(const std::string& name, const Options& options)
{
    if (options.hosts)
        return find_hosts(name, options);
    const Known& mpi = kKnown[name == kMpis[0] ? 0 : 1];
    for (const std::string& program : {"mpirun." + name, std::string("mpirun")}) {
        const fs::path file = in_path(program);
        if (file.empty())
            continue;
        const std::string version = version_of(file);
        if (std::none_of(mpi.says.begin(), mpi.says.end(), [&](const char* words) {
                return version.find(words) != std::string::npos;
            }))
            continue;
        MpiJob job{{file}, library_of(file, mpi)};
        if (job.library.empty())
            continue;
        for (const std::string& option : options_of(name, version))
            job.command.push_back(option);
        job.command.insert(job.command.end(), {"-n", std::to_string(options.ranks)});
        return job;
    }
    return {};
}

}  // namespace bench
