#!/usr/bin/env python3
"""What the library never does: print, exit, abort, start a shell, trust the environment.

Each rule is a pattern, where it is allowed, and why.  Usage: forbidden_calls.py SOURCE_ROOT
"""
import pathlib
import re
import sys

# A call by its name: not a member (x.f, x->f), not another namespace's (ours are fine), not a part
# of a longer word.
CALL = r"(?<![\w.>:])(?:::|std::)?(?:{})\s*\("
RULES = [
    (CALL.format("abort|exit|_exit|_Exit|quick_exit|terminate|assert"), (),
     "a library never ends its host"),
    (CALL.format("printf|fprintf|vprintf|vfprintf|puts|fputs|perror|putchar"), (),
     "a library never prints: base/log"),
    (r"std::(cout|cerr|clog)\b|\bstd(out|err)\b", (), "a library never prints: base/log"),
    (CALL.format(r"system|popen|exec[lv]p?e?|posix_spawnp?|fork|vfork"), (),
     "a library starts no program"),
    (CALL.format("getenv|secure_getenv|setenv|putenv|unsetenv"), ("base/env", "comm/file"),
     "the environment is read in base/env alone, but for the scheduler's job in comm/file"),
    (r"(?<!secure_)\bgetenv\s*\(", (), "secure_getenv: a privileged process trusts no environment"),
    (CALL.format("dlopen|dlmopen"), ("base/dynlib",), "libraries are loaded in base/dynlib alone"),
    (r"\bRTLD_(LAZY|GLOBAL)\b", (), "RTLD_NOW | RTLD_LOCAL"),
    (CALL.format("signal|sigaction|sigprocmask|alarm|setitimer"), (),
     "signals belong to the host"),
    (CALL.format("pthread_sigmask"), ("node/", "comm/helper", "memory/", "transport/fabric_port"),
     "only around the start of the library's own threads"),
    (CALL.format("sleep|usleep|nanosleep|clock_nanosleep|clock_gettime|gettimeofday|time"),
     ("base/clock",), "time comes from base/clock alone"),
    (r"std::chrono::\w*clock|std::this_thread::sleep|std::(random_device|mt19937)\b",
     ("base/clock",),
     "time and chance come from base/clock alone"),
    (CALL.format("rand|random|srand|drand48|getrandom|arc4random"), ("base/clock",),
     "chance comes from base/clock alone"),
    (CALL.format("tmpnam|tempnam|mktemp|gets|strcpy|strcat|sprintf|vsprintf|alloca"), (),
     "there is a safe way"),
    (r'"/tmp|"/var/tmp|"/dev/shm', (), "no file with a fixed name where others may plant one"),
    (CALL.format("shm_open|shmget|mkstemp"), (), "no named shared memory: sealed memfds"),
    (r"\b(try|catch)\b(?=\s*[({])",
     ("api/", "memory/fill", "node/watcher", "comm/helper", "store/contain",
      "transport/fabric_port"),
     "exceptions end at the door, where a thread is started and where all ranks must hear of it"),
    (r"\bthrow\b", ("api/",), "what can fail returns Result<T>"),
]
TEXT = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"', re.DOTALL)


def code_of(text, keep_strings):
    """The text without comments (and strings), line numbers kept."""
    def blank(match):
        if keep_strings and not match.group().startswith("/"):
            return match.group()
        return '""' * (not match.group().startswith("/")) + "\n" * match.group().count("\n")
    return TEXT.sub(blank, text)


def main(root):
    src = pathlib.Path(root) / "src"
    files = [path for path in sorted(src.rglob("*")) if path.suffix in (".hpp", ".cpp", ".h", ".c")]
    bad = 0
    for path in files:
        place = path.relative_to(src).as_posix()
        text = path.read_text(encoding="utf-8")
        for pattern, allowed, reason in RULES:
            if place.startswith(allowed):
                continue
            code = code_of(text, keep_strings=pattern.startswith('"'))
            for match in re.finditer(pattern, code):
                line = code.count("\n", 0, match.start()) + 1
                print(f"src/{place}:{line}: {match.group().strip()}: {reason}")
                bad += 1
    print(f"{len(files)} files, {len(RULES)} rules, {bad} refused")
    return 1 if bad or not files else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
