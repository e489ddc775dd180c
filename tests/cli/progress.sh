# Progress on a terminal: which pass runs; nothing of it is left, and nothing is
# printed into it.
cat > terminal.py << 'END'
"""Runs each command of standard input on a terminal. Prints the passes that its
progress named; and the screen that it left, if other lines are there than the
command prints to a file."""
import os, pty, re, shlex, subprocess, sys

def run(words):
    pid, fd = pty.fork()
    if pid == 0:
        os.execvp(words[0], words)
    raw = b""
    try:
        while some := os.read(fd, 65536):
            raw += some
    except OSError:
        pass # the last process that had the terminal has ended
    os.close(fd)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return raw.decode().replace("\r\n", "\n"), status

def passes(text):
    names = re.findall(r"\rumbel [a-z]+: ([^,\x1b]*)", text)
    names = [n for n in names if n != "working"]
    return [n for i, n in enumerate(names) if i == 0 or names[i - 1] != n]

def screen(text):
    lines, line, column = [], "", 0
    for part in re.findall(r"\r|\n|\x1b\[K|[^\r\n\x1b]+", text):
        if part == "\r":
            column = 0
        elif part == "\n":
            lines.append(line)
            line, column = "", 0
        elif part == "\x1b[K":
            line = line[:column]
        else:
            line = line[:column] + part + line[column + len(part):]
            column += len(part)
    return lines + [line] * (line != "")

def untimed(lines):
    return sorted(l for l in lines if not l.startswith("seconds"))

for command in sys.stdin:
    words = shlex.split(command)
    text, status = run(words)
    plain = subprocess.run(words, stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    shown, lines = screen(text), plain.stdout.decode().splitlines()
    print("$", command.strip())
    print("  passes:", ", ".join(passes(text)))
    if untimed(shown) != untimed(lines) or status != plain.returncode:
        print("  the screen", status, *shown, sep="\n  | ")
        print("  a file", plain.returncode, *lines, sep="\n  | ")
END

seq 300 > list
seq 100000 100400 > never
UMBEL_PROGRESS_DELAY=0 python3 terminal.py << 'END'
umbel build list -o f.umb --seed 1 --bits 2000 --hashes 4
umbel build list -o n.umb --never never --fpr 1%
umbel build list -o r.umb --kind ribbon --never never
umbel check f.umb -f never
umbel check f.umb -f never --threads 3 -v
umbel check f.umb -f never -c
umbel check f.umb 7
umbel verify f.umb --members list --outside never --false-positives -
umbel retouch f.umb --members list --never never --max-fn 0.9 -o t.umb
umbel plan --members list --never never
umbel reproduce rbf-fig3 --rounds 1
umbel info absent.umb
umbel info f.umb --no-progress
END
# Not before its time.
python3 terminal.py << 'END'
umbel check f.umb -f never -c
END
