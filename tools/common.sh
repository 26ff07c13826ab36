# shellcheck shell=bash disable=SC2154
# What tools/demo and tools/test share: the machine's packages, a Python environment of the
# project's own, builds under build/, and steps that tell what they do and how long it took.
# Sourced by bash, with `root` set to the top of the source tree.

export LC_ALL=C.UTF-8 PYTHONNOUSERSITE=1 PIP_DISABLE_PIP_VERSION_CHECK=1
unset PYTHONPATH PYTHONHOME "${!DDSTORE_@}"  # the caller's settings are not what is shown here

venv=$root/.venv
step_names=() step_seconds=()

say() { printf '%s\n' "$*"; }

# step WHAT COMMAND...: announces, runs, notes the time.  Returns what the command returned.
step() {
    local what=$1 began=$SECONDS status=0
    shift
    say "==> $what"
    "$@" || status=$?
    step_names+=("$what") step_seconds+=($((SECONDS - began)))
    ((status == 0)) || say "==> $what: failed ($status)"
    return $status
}

where_time_went() {
    local i
    say "==> where the time went: $SECONDS s in all"
    for i in "${!step_names[@]}"; do
        printf '    %5d s  %s\n' "${step_seconds[i]}" "${step_names[i]}"
    done
}

# Each need is one of these words; the packages that would meet it, where it is not met yet.
missing_package() {
    case $1 in
    g++) compiler_of_c++20 >/dev/null || { apt_has g++-12 && ! apt_is_new g++ && echo g++-12 || echo g++; } ;;
    clang) command -v clang++ >/dev/null || echo clang ;;
    clang-tsan) ! command -v clang++ >/dev/null || links clang++ -fsanitize=thread || {
        local major
        major=$(clang++ -dumpversion) && echo "libclang-rt-${major%%.*}-dev"
    } ;;
    python)
        python3 -c 'import venv, ensurepip' 2>/dev/null || echo python3-venv
        test -e "$(python3 -c 'import sysconfig; print(sysconfig.get_path("include"))' \
            2>/dev/null)/Python.h" || echo python3-dev
        ;;
    pkg-config) command -v pkg-config >/dev/null || echo pkg-config ;;
    cmocka) pkg-config --exists cmocka 2>/dev/null || echo libcmocka-dev ;;
    openmpi) command -v mpicc.openmpi >/dev/null || echo libopenmpi-dev openmpi-bin ;;
    mpich) command -v mpicc.mpich >/dev/null || echo libmpich-dev mpich ;;
    fabric) pkg-config --exists libfabric 2>/dev/null || echo libfabric-dev ;;
    ip) of_system ip || echo iproute2 ;;
    slurm) of_system slurmctld && of_system slurmd && of_system srun || echo slurm-wlm ;;
    munge) of_system munged || echo munge ;;
    *) command -v "$1" >/dev/null || echo "$1" ;;
    esac
}

of_system() { PATH=$PATH:/usr/sbin:/sbin command -v "$1" >/dev/null; }
links() { echo 'int main() { return 0; }' | "$1" "$2" -x c++ - -o /dev/null 2>/dev/null; }
apt_has() { apt-cache show "$1" >/dev/null 2>&1; }
apt_is_new() {
    local version
    version=$(apt-cache show "$1" 2>/dev/null | sed -n 's/^Version: \([0-9]*:\)\?\([0-9]*\).*/\2/p' |
        head -n 1)
    ((${version:-0} >= 12))
}

# The first C++ compiler here that is GCC 12 or later (CXX wins).
compiler_of_c++20() {
    local name version
    for name in ${CXX:-g++ g++-14 g++-13 g++-12}; do
        version=$($name -dumpversion 2>/dev/null) || continue
        if [[ -n ${CXX:-} ]] || ((${version%%.*} >= 12)); then
            echo "$name"
            return 0
        fi
    done
    return 1
}

# Exports CXX and CC, of one family, for Meson and pip alike.
use_compiler() {
    CXX=$(compiler_of_c++20) || return
    case $CXX in
    *clang++*) CC=${CC:-${CXX/clang++/clang}} ;;
    *g++*) CC=${CC:-${CXX/g++/gcc}} ;;
    esac
    export CXX CC
}

# packages NEED...: installs what is missing with apt; nothing missing, nothing asked.
packages() {
    local need missing=() as=()
    for need in "$@"; do
        # shellcheck disable=SC2207
        missing+=($(missing_package "$need"))
    done
    ((${#missing[@]})) || return 0
    say "missing: ${missing[*]}"
    if ! command -v apt-get >/dev/null; then
        say "please install them (there is no apt-get here), then run this again"
        return 1
    fi
    if ((EUID != 0)); then
        command -v sudo >/dev/null || {
            say "please run: apt-get install ${missing[*]}   (as root; there is no sudo here)"
            return 1
        }
        as=(sudo)
    fi
    [[ -n ${apt_updated:-} ]] || "${as[@]}" apt-get update -q || return
    apt_updated=1
    "${as[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends \
        "${missing[@]}"
}

# python_environment REQUIREMENTS...: .venv has them; asks no network where it has them already.
python_environment() {
    local stamp files=() file
    for file in "$@"; do
        files+=(-r "$file")
    done
    if ! "$venv/bin/python" -c '' 2>/dev/null; then
        python3 -m venv --clear "$venv" || return
    fi
    stamp=$({ "$venv/bin/python" -V && echo "$venv" && cat "$@"; } | cksum)
    if ! grep -qxF "$stamp" "$venv/satisfied" 2>/dev/null; then
        "$venv/bin/python" -m pip install --progress-bar off "${files[@]}" || return
        echo "$stamp" >>"$venv/satisfied"
    fi
    PATH=$venv/bin:$PATH
}

# more_mpis REQUIREMENTS [NAME]: each MPI of it, or that one, under .venv/mpi, in a folder of its own, as
# they have files of the same names.
more_mpis() {
    local line name
    while read -r line; do
        name=${line%% *}
        [[ -z ${2:-} || $name == "$2" ]] || continue
        grep -qxF "$line" "$venv/mpi/$name/satisfied" 2>/dev/null && continue
        rm -rf "$venv/mpi/$name"
        "$venv/bin/python" -m pip install --progress-bar off --prefix "$venv/mpi/$name" "$line" &&
            echo "$line" >"$venv/mpi/$name/satisfied" || return
    done < <(sed 's/ *#.*//; /^$/d' "$1")
}

# An mpi4py for the system's MPICH, under .venv/mpi: its library has another name than PyPI's looks for.
mpi4py_of_mpich() {
    local folder=$venv/mpi/mpi4py-mpich
    [[ ! -e $folder/satisfied ]] && command -v mpicc.mpich >/dev/null || return 0
    rm -rf "$folder"
    MPICC=mpicc.mpich CFLAGS=-O0 "$venv/bin/python" -m pip install --progress-bar off --no-cache-dir \
        --no-deps --no-binary mpi4py --target "$folder" mpi4py && touch "$folder/satisfied"
}

# configure FOLDER OPTION...: sets up once; the same folder again takes the options that changed.
configure() {
    local folder=$1 how=()
    shift
    [[ -e $folder/build.ninja ]] && how=(--reconfigure)
    if [[ ${how[*]} && $(cat "$folder/options" 2>/dev/null) == "$*" ]]; then
        return 0 # ninja configures again by itself where a meson.build changed
    fi
    meson setup "${how[@]}" "$folder" "$root" "$@" && echo "$*" >"$folder/options"
}

build() { configure "$@" && meson compile -C "$1"; }

# The Python package, built from this tree and installed in the environment.
python_package() {
    python -m pip install --no-build-isolation --no-deps --progress-bar off \
        --config-settings=build-dir="$root/build/python" "$root"
}
