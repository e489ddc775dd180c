"""A web server that misbehaves: each mode is a row of MODES.

The first word of an address chooses the mode. A mode answers one request; it may
write anything to the connection, for as long as the reader listens.
"""
import gzip
import itertools
import os
import re
import socket
import struct
import threading
import time

MODES = {}
DRIP_SECONDS = 0.05
BLOCK = 65536


def mode(name):
    """Adds the function as a row."""
    def add(run):
        MODES[name] = run
        return run
    return add


class Connection:
    """A connection, and the mode that it shows."""

    def __init__(self, server, conn, mode):
        self.server, self.conn, self.mode = server, conn, mode

    def send(self, data):
        self.conn.sendall(data)
        with self.server.lock:
            self.server.sent[self.mode] = self.server.sent.get(self.mode, 0) + len(data)

    def forever(self, data):
        """Until the reader has enough; small pieces are sent many at a time."""
        data *= max(1, BLOCK // len(data))
        while True:
            self.send(data)

    def drip(self, data):
        """One byte at a time, again and again."""
        for byte in itertools.cycle(data):
            self.send(bytes([byte]))
            time.sleep(DRIP_SECONDS)

    def hold(self):
        """Says nothing more; ends when the reader does."""
        while self.conn.recv(BLOCK):
            pass

    def reset(self):
        self.conn.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))


class Request(Connection):
    """A request, and what an honest server has for it."""

    def __init__(self, server, conn, head):
        lines = head.decode('latin-1').split('\r\n')
        super().__init__(server, conn, None)
        self.path = lines[0].split(' ')[1]
        _, self.mode, self.name = self.path.split('/', 2)
        self.headers = dict(line.lower().split(': ', 1) for line in lines[1:] if ': ' in line)
        part = self.headers.get('range')
        self.start = int(part[len('bytes='):-1]) if part else 0
        self.piece = not self.name.endswith('.manifest')
        self.body = self.stored(self.name)
        with server.lock:
            self.count = server.asked[self.path] = server.asked.get(self.path, 0) + 1

    def stored(self, name):
        path = os.path.join(self.server.directory, name)
        if not os.path.exists(path):
            return None
        with open(path, 'rb') as f:
            return f.read()

    def head(self, code=200, **headers):
        lines = ['HTTP/1.1 %s x' % code, 'Connection: close'] + [
            '%s: %s' % (name.replace('_', '-'), value) for name, value in headers.items()]
        self.send('\r\n'.join(lines + ['', '']).encode('latin-1'))

    def answer(self, code=200, body=None, **headers):
        body = self.body if body is None else body
        if code not in (204, 304):
            headers.setdefault('Content_Length', len(body))
        self.head(code, **headers)
        self.send(body)

    def chunked(self, code=200, **headers):
        self.head(code, Transfer_Encoding='chunked', **headers)

    def whole_in_chunks(self, end=b'0\r\n\r\n'):
        self.chunked()
        self.send(b'%x\r\n%s\r\n' % (len(self.body), self.body) + end)

    def honest(self):
        self.answer(404, b'') if self.body is None else self.answer()

    def elsewhere(self, location, code=302, **headers):
        self.answer(code, b'', Location=location, **headers)


def only_pieces(run):
    """The manifest comes as it should."""
    def both(r):
        run(r) if r.piece else r.honest()
    return both


def only_manifests(run):
    def both(r):
        r.honest() if r.piece else run(r)
    return both


# --- rows that say something once -------------------------------------------

def says(name, text, pieces=False):
    """These bytes, and the end of the connection."""
    row = lambda r: r.send(text)
    MODES[name] = only_pieces(row) if pieces else row


def stays(name, text, pieces=False):
    """These bytes, and silence."""
    def row(r):
        r.send(text)
        r.hold()
    MODES[name] = only_pieces(row) if pieces else row


def repeats(name, first, again, pieces=False):
    """These bytes, then others without end."""
    def row(r):
        r.send(first)
        r.forever(again)
    MODES[name] = only_pieces(row) if pieces else row


def drips(name, first, again, pieces=False):
    def row(r):
        r.send(first)
        r.drip(again)
    MODES[name] = only_pieces(row) if pieces else row


OK = b'HTTP/1.1 200 OK\r\n'
CHUNKED = OK + b'Transfer-Encoding: chunked\r\n\r\n'
PLAIN = OK + b'\r\n'

for code in (204, 206, 300, 401, 403, 418, 500, 503, 599):
    MODES[str(code)] = lambda r, code=code: r.answer(code, b'' if code == 204 else r.body)

says('nothing', b'')
says('half-a-status', b'HTTP/1.')
says('half-a-header', OK + b'Content-Le')
says('version-9', b'HTTP/9.9 200 OK\r\nContent-Length: 3\r\n\r\nabc')
says('no-number', b'HTTP/1.1 fine\r\n\r\n')
says('no-http', b'220 mail.example ESMTP\r\n')
says('binary', bytes(range(256)) * 16)
says('tls-alert', b'\x15\x03\x01\x00\x02\x02\x28')
says('http2', b'\x00\x00\x12\x04\x00\x00\x00\x00\x00' * 20)
says('escapes', b'HTTP/1.1 500 \x1b[31m\x07\r\nETag: "\x1b[2J"\r\nContent-Length: 3\r\n\r\n\x1b[m')
says('nul-in-header', OK + b'X-\0: \0\r\nContent-Length: 1\r\n\r\na')
says('empty-body', OK + b'Content-Length: 0\r\n\r\n')
says('no-length', PLAIN + b'words')
says('length-negative', OK + b'Content-Length: -5\r\n\r\nwords')
says('length-huge', OK + b'Content-Length: 9223372036854775807\r\n\r\nwords', True)
says('length-too-huge', OK + b'Content-Length: 99999999999999999999999\r\n\r\nwords', True)
says('length-words', OK + b'Content-Length: many\r\n\r\nwords')
says('chunk-not-hex', CHUNKED + b'xyz\r\nwords\r\n0\r\n\r\n')
says('chunk-huge', CHUNKED + b'ffffffffffffffffffffff\r\nwords')
says('chunk-cut', CHUNKED + b'5\r\nwor', True)
says('unknown-coding', OK + b'Transfer-Encoding: zip\r\n\r\nwords')

stays('silent', b'')
stays('silent-status', b'HTTP/1.1 2')
stays('silent-header', OK + b'X-More: ')
stays('silent-body', OK + b'Content-Length: 1000\r\n\r\n')
stays('silent-piece', OK + b'Content-Length: 1000\r\n\r\nsome', True)
stays('silent-trailer', CHUNKED + b'5\r\nwords\r\n0\r\nX-More: ')
stays('silent-100', b'HTTP/1.1 100 Continue\r\n\r\n')

repeats('endless', CHUNKED, b'400\r\n' + b'x' * 1024 + b'\r\n')
repeats('endless-piece', CHUNKED, b'400\r\n' + b'x' * 1024 + b'\r\n', True)
repeats('endless-plain', PLAIN, b'x', True)
repeats('endless-404', b'HTTP/1.1 404 x\r\n\r\n', b'x')
repeats('endless-500', b'HTTP/1.1 500 x\r\n\r\n', b'x')
repeats('endless-redirect', b'HTTP/1.1 302 x\r\nLocation: /honest/words.manifest\r\n'
        b'Transfer-Encoding: chunked\r\n\r\n', b'400\r\n' + b'x' * 1024 + b'\r\n')
repeats('endless-status', b'HTTP/1.1 200 ', b'x')
repeats('endless-headers', OK, b'X-More: ' + b'y' * 8000 + b'\r\n')
repeats('endless-short-headers', OK, b'a:b\r\n')
repeats('endless-header', OK + b'X-More: ', b'y')
repeats('endless-folding', OK + b'X-More: a\r\n', b' y\r\n')
repeats('endless-100', b'', b'HTTP/1.1 100 Continue\r\n\r\n')
repeats('endless-103', b'', b'HTTP/1.1 103 Hints\r\nLink: </words>\r\n\r\n')
repeats('endless-trailers', CHUNKED + b'5\r\nwords\r\n0\r\n', b'X-More: ' + b'y' * 1000 + b'\r\n')
repeats('endless-short-trailers', CHUNKED + b'5\r\nwords\r\n0\r\n', b'a:b\r\n')
repeats('endless-trailer', CHUNKED + b'5\r\nwords\r\n0\r\nX-More: ', b'y')
repeats('endless-piece-trailers', CHUNKED + b'5\r\nwords\r\n0\r\n', b'a:b\r\n', True)
repeats('endless-extension', CHUNKED + b'5;', b'x')
repeats('endless-piece-extension', CHUNKED + b'5;', b'x', True)
repeats('endless-small-extensions', CHUNKED, b'1;' + b'x' * 4000 + b'\r\na\r\n', True)
repeats('endless-chunk-number', CHUNKED, b'0')
repeats('endless-newlines', b'', b'\r\n')

drips('drip-status', b'', b'HTTP/1.1 200 OK and more')
drips('drip-headers', OK, b'a: b\r\n')
drips('drip-100', b'', b'HTTP/1.1 100 Continue\r\n\r\n')
drips('drip-body', OK + b'Content-Length: 30000\r\n\r\n', b'x')
drips('drip-piece', OK + b'Content-Length: 30000\r\n\r\n', b'x', True)
drips('drip-chunks', CHUNKED, b'1\r\na\r\n', True)
drips('drip-extension', CHUNKED + b'5;', b'x')
drips('drip-trailers', CHUNKED + b'5\r\nwords\r\n0\r\n', b'a: b\r\n')
drips('drip-403', b'HTTP/1.1 403 x\r\n\r\n', b'x')


# --- rows that look at the request ------------------------------------------

@mode('honest')
def honest(r):
    r.honest()


@mode('hundreds')
def hundreds(r):
    r.send(b'HTTP/1.1 100 Continue\r\n\r\n' * 3)
    r.honest()


@mode('chunked')
def chunked(r):
    r.whole_in_chunks(b'0\r\nX-Sum: 5\r\n\r\n')


@mode('small-chunks')
@only_manifests
def small_chunks(r):
    r.chunked()
    for byte in r.body:
        r.send(b'1;x=y\r\n%c\r\n' % byte)
    r.send(b'0\r\n\r\n')


@mode('until-closed')
def until_closed(r):
    r.head()
    r.send(r.body)


@mode('unchanged')
def unchanged(r):
    r.answer(304, b'')


@mode('unchanged-piece')
@only_pieces
def unchanged_piece(r):
    r.answer(304, b'')


@mode('gzip')
def zipped(r):
    r.answer(200, gzip.compress(r.body), Content_Encoding='gzip')


@mode('longer')
@only_pieces
def longer(r):
    r.answer(200, r.body + b'more')


@mode('shorter')
@only_pieces
def shorter(r):
    r.answer(200, r.body[:-1])


@mode('other-bytes')
@only_pieces
def other_bytes(r):
    r.answer(200, bytes(byte ^ 1 for byte in r.body))


@mode('two-lengths')
@only_pieces
def two_lengths(r):
    r.send(OK + b'Content-Length: 5\r\nContent-Length: 7\r\n\r\nwords')


@mode('claims-more')
@only_pieces
def claims_more(r):
    r.answer(200, r.body, Content_Length=len(r.body) + 5)


@mode('reset')
def reset(r):
    r.reset()


@mode('reset-in-header')
def reset_in_header(r):
    r.send(OK + b'Content-')
    r.reset()


@mode('reset-in-piece')
@only_pieces
def reset_in_piece(r):
    r.head(200, Content_Length=len(r.body))
    r.send(r.body[:100])
    r.reset()


@mode('burst-then-drip')
@only_pieces
def burst_then_drip(r):
    r.head(200, Content_Length=len(r.body))
    r.send(r.body[:10000])
    r.drip(r.body[10000:20000])


# Redirects.

@mode('to-honest')
def to_honest(r):
    r.elsewhere('/honest/' + r.name, ETag='"first"')


@mode('to-itself')
def to_itself(r):
    r.elsewhere(r.path)


@mode('to-longer')
def to_longer(r):
    r.elsewhere(r.path + '?' + 'x' * 1000)


@mode('to-file')
def to_file(r):
    r.elsewhere('file://%s/%s' % (r.server.directory, r.name))


@mode('to-ftp')
def to_ftp(r):
    r.elsewhere('ftp://127.0.0.1/' + r.name)


@mode('to-gopher')
def to_gopher(r):
    r.elsewhere('gopher://127.0.0.1:%d/1' % r.server.port)


@mode('to-nowhere')
def to_nowhere(r):
    r.answer(302, b'')


@mode('to-closed-port')
def to_closed_port(r):
    r.elsewhere('http://127.0.0.1:1/' + r.name)


@mode('to-long-address')
def to_long_address(r):
    r.elsewhere('/' + 'x' * 1000000)


@mode('to-silent')
def to_silent(r):
    r.elsewhere('/silent/' + r.name)


@mode('drip-redirects')
def drip_redirects(r):
    time.sleep(0.6)
    r.elsewhere(r.path)


# Downloads that break off at first, then go on strangely.

def cut(name):
    def add(run):
        def both(r):
            if not r.piece:
                r.honest()
            elif r.count == 1:
                r.answer(200, r.body[:len(r.body) // 2], Content_Length=len(r.body))
            elif 'range' in r.headers:
                run(r)
            else:
                r.honest()
        MODES[name] = both
        return run
    return add


def span(r):
    return 'bytes %d-%d/%d' % (r.start, len(r.body) - 1, len(r.body))


@cut('cut-well')
def cut_well(r):
    r.answer(206, r.body[r.start:], Content_Range=span(r))


@cut('cut-from-0')
def cut_from_0(r):
    r.answer(206, r.body, Content_Range='bytes 0-9/10')


@cut('cut-without-range')
def cut_without_range(r):
    r.answer(206, r.body[r.start:])


@cut('cut-other-bytes')
def cut_other_bytes(r):
    r.answer(206, r.body[:len(r.body) - r.start], Content_Range=span(r))


@cut('cut-416')
def cut_416(r):
    r.answer(416, b'')


@cut('cut-endless')
def cut_endless(r):
    r.chunked(206, Content_Range=span(r))
    r.forever(b'400\r\n' + b'x' * 1024 + b'\r\n')


@cut('cut-always-whole')
def cut_always_whole(r):
    r.answer()


# Manifests.

@mode('held-back')
def held_back(r):
    r.body = r.stored(r.name if r.piece else '../old.manifest')
    r.honest()


@mode('replaced')
def replaced(r):
    if not r.piece and r.count == 1: # its pieces are gone
        r.body = r.stored('../old.manifest')
    r.honest()


@mode('rolled-back')
def rolled_back(r):
    if not r.piece and r.count > 1:
        r.body = r.stored('../old.manifest')
    r.honest()


@mode('another-list')
@only_manifests
def another_list(r):
    r.answer(200, r.stored('other.manifest'))


@mode('unsigned')
@only_manifests
def unsigned(r):
    r.answer(200, re.sub(rb'\nkey .*', b'\nunsigned\n', r.body, flags=re.S))


@mode('signature-cut')
@only_manifests
def signature_cut(r):
    r.answer(200, r.body[:-64])


@mode('expired')
@only_manifests
def expired(r):
    r.answer(200, re.sub(rb'\nexpires \d+', b'\nexpires 1', r.body))


@mode('manifest-flipped')
@only_manifests
def manifest_flipped(r):
    r.answer(200, r.body.replace(b'serial 3', b'serial 4'))


@mode('manifest-longer')
@only_manifests
def manifest_longer(r):
    r.answer(200, r.body + b'x' * 40000)


@mode('manifest-is-page')
@only_manifests
def manifest_is_page(r):
    r.answer(200, b'<html><title>Login</title></html>', Content_Type='text/html')


@mode('filter-of-another')
@only_pieces
def filter_of_another(r):
    r.answer(200, r.stored('../other.umb'))


@mode('claims-exabytes')
@only_manifests
def claims_exabytes(r):
    r.answer(200, re.sub(rb'(\nfilter \w+) \d+', rb'\1 1152921504606846976', r.body))


# Differences.

def only_steps(run):
    def both(r):
        run(r) if r.name.endswith('.umd') else r.honest()
    return both


@mode('step-gone')
@only_steps
def step_gone(r):
    r.answer(404, b'')


@mode('step-flipped')
@only_steps
def step_flipped(r):
    r.answer(200, bytes(byte ^ 1 for byte in r.body))


@mode('step-endless')
@only_steps
def step_endless(r):
    r.head()
    r.forever(b'x')


@mode('step-drips')
@only_steps
def step_drips(r):
    r.head()
    r.drip(r.body)


# Tags and times.

@mode('tags')
def tags(r):
    if r.piece:
        r.honest()
    elif 'if-none-match' in r.headers:
        r.answer(304, b'')
    else:
        r.answer(200, r.body, ETag='"\x1b[31m"')


@mode('tag-long')
def tag_long(r):
    r.answer(200, r.body, ETag='"%s"' % ('x' * 10000))


@mode('times')
def times(r):
    r.answer(200, r.body, Date='no day', Last_Modified='Fri, 99 Foo 99999 99:99:99 GMT')


# Those that are asked by TLS, and have the connection and no request.

TLS_MODES = {}
HANDSHAKE = b'\x16\x03\x03\x40\x00' + b'\x02\x00\xff\x00' + bytes(16380)


def tls(name):
    def add(run):
        TLS_MODES[name] = run
        return run
    return add


@tls('tls-silent')
def tls_silent(r):
    r.hold()


@tls('tls-drip')
def tls_drip(r):
    r.drip(HANDSHAKE)


@tls('tls-endless')
def tls_endless(r):
    r.forever(HANDSHAKE)


@tls('tls-alerts')
def tls_alerts(r):
    r.forever(b'\x15\x03\x03\x00\x02\x01\x00')


@tls('tls-plain')
def tls_plain(r):
    r.forever(PLAIN)


# --- the server -------------------------------------------------------------

class Server:
    """Serves a directory, misbehaving, on ports of loopback: one by HTTP, and
    one for each mode that is asked by TLS."""

    def __init__(self, directory):
        self.directory, self.lock = directory, threading.Lock()
        self.asked, self.sent = {}, {} # requests by path, bytes by mode
        self.port = self.listen(self.serve)
        self.tls_ports = {name: self.listen(lambda conn, name=name: TLS_MODES[name](
            Connection(self, conn, name))) for name in TLS_MODES}

    def listen(self, serve):
        listener = socket.create_server(('127.0.0.1', 0), backlog=256)
        threading.Thread(target=self.accept, args=(listener, serve), daemon=True).start()
        return listener.getsockname()[1]

    def accept(self, listener, serve):
        while True:
            conn = listener.accept()[0]
            threading.Thread(target=self.run, args=(serve, conn), daemon=True).start()

    def run(self, serve, conn):
        try:
            serve(conn)
        except (ConnectionError, IndexError):
            pass
        finally:
            conn.close()

    def serve(self, conn):
        head = b''
        while b'\r\n\r\n' not in head:
            head += conn.recv(BLOCK) or b'\r\n\r\n'
        request = Request(self, conn, head)
        MODES[request.mode](request)

    def address(self, mode, name):
        if mode in TLS_MODES:
            return 'https://127.0.0.1:%d/%s' % (self.tls_ports[mode], name)
        return 'http://127.0.0.1:%d/%s/%s' % (self.port, mode, name)
