# What is wrong with an address, and what was meant.
seq 100 | umbel build -n 100 -q -o words.umb
umbel publish site words.umb -q
try umbel pull localhost:8000/site/words -o copy.umb
try umbel pull example.org/site/words -o copy.umb
umbel pull site/words -o copy.umb 2>&1 | sed "s:$PWD:/srv:"
umbel pull ./site.d/words -o copy.umb 2>&1 | sed "s:$PWD:/srv:"
umbel pull "file://$PWD/site/words" -o no/such/copy.umb

# A server that does not speak https.
cat > server.py << 'END'
import socket
s = socket.create_server(("127.0.0.1", 0))
print(s.getsockname()[1], flush=True)
c, _ = s.accept()
c.recv(1000)
c.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
END
exec 5< <(python3 server.py)
read -r port <&5
umbel pull "https://127.0.0.1:$port/words" -o copy.umb 2>&1 |
    grep -o 'does the server speak.*'
absent copy.umb copy.umb.pull

# A reason is printed whole, however long the address is.
long=$(printf '%0100d' 0)
umbel pull "http://127.0.0.1:1/$long/list" -o c.umb 2>&1 | grep -o 'to server$'
umbel pull "http://127.0.0.1:1/$long$long/list" -o c.umb 2>&1 | grep -o '^umbel pull: \.\.\.00*\|to server$'
