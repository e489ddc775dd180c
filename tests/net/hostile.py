"""hostile.py UMBEL - pull from a web server that lies, stalls, repeats and never ends.

Each row is a mode of server.py: how the pulls end, what the last one says, and the
options it gets. Whatever the server does, a pull ends within the time and the
memory that umbel-pull(1) states, takes no filter but the published one, and
writes nothing that steers a terminal. umbel-pull's limits are made small where the
row waits for them.
"""
import collections
import concurrent.futures
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

import server

MEMORY = 32 * 10**6     # bytes more than an honest pull takes: umbel-pull(1)
SENT = 32 << 20         # bytes that a server gets rid of; most of it lies in sockets
SECONDS = 60            # for a machine that is busy, beside the stated time
AT_ONCE = 16

FINE, REFUSED, TROUBLE = 0, 1, 2
SLOW = ('--timeout', '1', '--min-rate', '1M')
WHOLE = r'fetched +whole'

Row = collections.namedtuple('Row', 'mode ends says args list', defaults=((), 'words'))


def fine(*modes, says=WHOLE, ends=(FINE,), **more):
    return [Row(mode, ends, says, **more) for mode in modes]


def refused(says, *modes, ends=(REFUSED,), **more):
    return [Row(mode, ends, says, **more) for mode in modes]


def trouble(says, *modes, **more):
    return [Row(mode, (TROUBLE,), says, **more) for mode in modes]


def slow(*modes, **more):
    return trouble(r'(?i)too slow|silent|timed out|timeout', *modes, args=SLOW, **more)


ROWS = [
    *fine('honest', 'replaced', 'to-honest', 'hundreds', 'chunked', 'until-closed',
          'small-chunks', 'tag-long', 'times'),
    *fine('tags', ends=(FINE, FINE), says=r'fetched +current'),
    *fine('cut-well', ends=(TROUBLE, FINE), says=r'transferred +1[0-9],'),
    *fine('cut-from-0', 'cut-without-range', 'cut-other-bytes', 'cut-416', 'cut-endless',
          'cut-always-whole', ends=(TROUBLE, FINE)),
    *fine('step-gone', 'step-flipped', 'step-endless', list='steps'),
    *slow('step-drips', list='steps'),

    *trouble('does not exist', 'held-back', 'endless-404'),
    *trouble('answers 304', 'unchanged', 'unchanged-piece'),
    *[row for code in (204, 206, 300, 401, 403, 418, 500, 503, 599)
      for row in trouble('answers %d' % code, str(code))],
    *trouble('answers 500', 'escapes', 'endless-500'),
    *trouble('answers 403', 'drip-403'),
    *trouble('answers 302', 'to-nowhere'),
    *trouble('not a manifest', 'gzip', 'manifest-is-page', 'no-length', 'empty-body',
             'half-a-header'),
    *trouble(r'127\.0\.0\.1|does not stop', 'nothing', 'half-a-status', 'version-9',
             'no-number', 'no-http', 'binary', 'tls-alert', 'http2', 'nul-in-header',
             'length-negative', 'length-words', 'length-huge',
             'two-lengths', 'chunk-not-hex', 'chunk-huge', 'chunk-cut', 'unknown-coding',
             'claims-more', 'reset', 'reset-in-header', 'reset-in-piece', 'to-closed-port',
             'to-long-address', 'endless-status', 'endless-header', 'endless-trailer',
             'endless-chunk-number', 'endless-newlines', 'tls-endless', 'tls-alerts',
             'tls-plain'),
    *trouble('Protocol', 'to-file', 'to-ftp', 'to-gopher'),
    *trouble('redirects', 'to-itself', 'to-longer'),
    *trouble('headers', 'endless-headers', 'endless-short-headers', 'endless-folding',
             'endless-100', 'endless-103', 'endless-trailers', 'endless-short-trailers',
             'endless-piece-trailers'),
    *trouble('does not stop', 'endless-redirect',
             'endless-extension', 'endless-piece-extension', 'endless-small-extensions'),

    *refused('more than [0-9]+ bytes', 'endless', 'endless-piece', 'endless-plain', 'longer',
             'filter-of-another', 'manifest-longer', ends=(REFUSED, REFUSED)),
    *refused('digest differs', 'shorter', 'other-bytes', 'length-too-huge'),
    *refused('got the manifest of "other"', 'another-list', ends=(REFUSED, REFUSED)),
    *refused('older than the last', 'rolled-back', ends=(FINE, REFUSED)),
    *refused('does not match its signature', 'manifest-flipped', 'signature-cut'),
    *refused('is not signed', 'unsigned'),
    *refused('expired', 'expired', list='plain'),
    *refused('the limit is', 'claims-exabytes', list='plain'),

    *slow('silent', 'silent-status', 'silent-header', 'silent-body', 'silent-piece',
          'silent-trailer', 'silent-100', 'to-silent', 'drip-status', 'drip-headers',
          'drip-100', 'drip-body', 'drip-piece', 'drip-chunks', 'drip-extension',
          'drip-trailers', 'drip-redirects', 'burst-then-drip', 'tls-silent', 'tls-drip'),
]


class Failure(Exception):
    pass


def expect(condition, row, what):
    if not condition:
        raise Failure('%s: %s' % (row.mode, what))


def umbel(*args):
    subprocess.run([UMBEL, *args], check=True)


def create_directory():
    """words: two filters, the first one gone; steps: a difference; plain: not signed."""
    with open('members', 'w') as f:
        f.writelines('%d\n' % i for i in range(20000))
    with open('few', 'w') as f:
        f.writelines('new %d\n' % i for i in range(50))
    umbel('keygen', '--sign', '-o', 'key', '-q')
    build = lambda name, room: umbel('build', 'members', '-n', str(room), '--fpr', '1%', '-q',
                                     '-o', name + '.umb')
    publish = lambda *names: umbel('publish', 'published', *(name + '.umb' for name in names),
                                   '--sign', 'key', '-q')
    build('words', 22000)
    publish('words')
    shutil.copy('published/words.manifest', 'old.manifest')
    build('words', 25000)
    build('other', 30000)
    build('steps', 26000)
    build('plain', 27000)
    publish('words', 'other', 'steps')
    umbel('pull', 'file://%s/published/steps' % os.getcwd(), '-o', 'before', '--trust', 'key.pub', '-q')
    umbel('add', 'steps.umb', 'few', '-q')
    publish('words', 'steps')
    umbel('publish', 'published', 'plain.umb', '--valid', '3', '-q')


def pull(row, web, copy):
    """Returns the exit code, what was said, bytes of memory, and seconds."""
    trust = () if row.list == 'plain' else ('--trust', 'key.pub')
    args = [UMBEL, 'pull', web.address(row.mode, row.list), '-o', copy, *trust, *row.args]
    began = time.monotonic()
    with tempfile.TemporaryFile() as out:
        child = subprocess.Popen(args, stdout=out, stderr=out)
        timer = threading.Timer(stated_seconds(row) + SECONDS, child.kill)
        timer.start()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        timer.cancel()
        out.seek(0)
        return child.returncode, out.read().decode(), usage.ru_maxrss << 10, time.monotonic() - began


def stated_seconds(row):
    """Of umbel-pull(1), for four transfers of files as small as ours."""
    return 4 * ((1 if row.args else 30) + 5)


def try_row(row, web):
    """Returns the largest memory and the longest time of its pulls."""
    copy = row.mode + '.umb'
    memory = seconds = 0
    if row.list == 'steps':
        shutil.copy('before', copy)
        shutil.copy('before.pull', copy + '.pull')
    for end in row.ends:
        code, said, took, lasted = pull(row, web, copy)
        memory, seconds = max(memory, took), max(seconds, lasted)
        expect(code == end, row, 'ended with %d after %.1f s: %s' % (code, lasted, said))
    expect(re.search(row.says, said), row, said)
    expect(not re.search('[\x00-\x09\x0b-\x1f\x7f]', said), row, 'a terminal is steered')
    check_files(row, copy, end)
    return memory, seconds


def same(a, b):
    with open(a, 'rb') as f, open(b, 'rb') as g:
        return f.read() == g.read()


def check_files(row, copy, end):
    """The published filter and its state, or what was there before."""
    if end == FINE:
        expect(same(copy, row.list + '.umb'), row, 'not what was published')
        left = sorted(glob.glob(copy + '*'))
        expect(left == [copy, copy + '.pull'], row, 'left %s' % left)
    elif row.list == 'steps':
        expect(same(copy, 'before'), row, 'the filter changed')
    elif FINE not in row.ends:
        expect(not os.path.exists(copy), row, 'it was taken')


def try_all(web):
    """Returns the results by mode; prints failures."""
    results, failures = {}, []
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        waiting = {pool.submit(try_row, row, web): row for row in ROWS}
        for done in concurrent.futures.as_completed(waiting):
            try:
                results[waiting[done].mode] = done.result()
            except Failure as failure:
                failures.append(str(failure))
    return results, failures


def check_addresses(port):
    """A name that no filter has is not asked for; passwords are not shown."""
    def refusal(address):
        done = subprocess.run([UMBEL, 'pull', address, '-o', 'bad.umb'], capture_output=True, text=True)
        if done.returncode == 0:
            raise Failure(address + ' is an address')
        return done.stderr
    for rest in ('', '/', '/a/../', '/words?x', '/.words'):
        said = refusal('http://127.0.0.1:1' + rest)
        if 'ends with the name' not in said:
            raise Failure(rest + ': ' + said)
    for address in ('http://me:secret@127.0.0.1:%d/403/words' % port,
                    'http://me:a@secret@127.0.0.1:1/words', 'ftp://me:secret@127.0.0.1/words'):
        said = refusal(address)
        if 'secret' in said:
            raise Failure('a password is shown: ' + said)
    if glob.glob('bad.umb*'):
        raise Failure('traces: %s' % glob.glob('bad.umb*'))


def main():
    create_directory()
    web = server.Server(os.path.abspath('published'))
    missing = {*server.MODES, *server.TLS_MODES} - {row.mode for row in ROWS}
    assert not missing, missing
    results, failures = try_all(web)
    usual = results.get('honest', (0, 0))[0]
    for name, (memory, _) in sorted(results.items()):
        if memory > usual + MEMORY:
            failures.append('%s: %d bytes of memory, honest: %d' % (name, memory, usual))
        if web.sent.get(name, 0) > SENT:
            failures.append('%s: %d bytes were taken' % (name, web.sent[name]))
    check_addresses(web.port)
    if failures:
        raise Failure('\n'.join(failures))
    print('%d modes of misbehaviour: at most %.1f s, %d bytes of memory (honest: %d), '
          'no filter but the published one' %
          (len(ROWS), max(seconds for _, seconds in results.values()),
           max(memory for memory, _ in results.values()), usual))


UMBEL = os.path.abspath(sys.argv[1])
os.environ['no_proxy'] = os.environ['NO_PROXY'] = '127.0.0.1'
with tempfile.TemporaryDirectory() as directory:
    os.chdir(directory)
    try:
        main()
    except Failure as failure:
        print('FAILED: %s' % failure)
        sys.exit(1)
    finally:
        os.chdir('/')
