"""Out by the network: no address answers, no service of the host is seen, no name resolves."""

from tests.attacks.row import Row

LOOPBACK = """
import socket, threading
listener = socket.create_server(("127.0.0.1", 0))
threading.Thread(target=lambda: listener.accept()[0].sendall(b"FINE"), daemon=True).start()
print(socket.create_connection(listener.getsockname()).recv(4).decode())
"""

ROWS = (
    Row(
        family="network",
        name="a service on the host's loopback, by IPv4 and IPv6",
        attack="""
import socket
from aids import *
for host, port in (("127.0.0.1", @TCP@), ("::1", @TCP6@), ("0.0.0.0", @TCP@), ("127.8.9.1", @TCP@)):
    attempt(f"{host}", lambda: socket.create_connection((host, port), 2).recv(64))
print("HELD")
""",
        twin=LOOPBACK,
    ),
    Row(
        family="network",
        name="the server that it runs on",
        attack="""
import urllib.request
from aids import *
attempt("our own API", lambda: urllib.request.urlopen("http://127.0.0.1:@SERVER@/health", timeout=2).read())
print("HELD")
""",
        twin=LOOPBACK,
    ),
    Row(
        family="network",
        name="an abstract unix socket of the host, and one in a folder",
        attack="""
import socket
from aids import *
for address in ("\\0@ABSTRACT@", "@SOCKET@"):
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(2)
    attempt(repr(address), lambda: (client.connect(address), client.recv(64)))
print("HELD")
""",
        twin="""
import socket
listener = socket.socket(socket.AF_UNIX)
listener.bind("\\0mine")
listener.listen()
client = socket.socket(socket.AF_UNIX)
client.connect("\\0mine")
listener.accept()[0].sendall(b"FINE")
print(client.recv(4).decode())
""",
    ),
    Row(
        family="network",
        name="every port of the loopback, where boxes that install packages have a door",
        limit=20,
        attack="""
import socket
from aids import *
for port in range(1, 65536):
    with socket.socket() as client:
        # A client whose own port is the one that it asks for connects to itself.
        if not client.connect_ex(("127.0.0.1", port)) and client.getsockname()[1] != port:
            breach(f"port {port}")
print("HELD")
""",
        twin=LOOPBACK,
    ),
    Row(
        family="network",
        name="a name server that listens on the host",
        attack="""
import socket
from aids import *
question = b"\\x12\\x34\\x01\\0\\0\\1\\0\\0\\0\\0\\0\\0" + b"\\x07example\\3com\\0\\0\\1\\0\\1"
client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
client.settimeout(1)
def ask():
    client.sendto(question, ("127.0.0.1", @UDP@))
    return client.recv(512)
attempt("an answer", ask)
attempt("a name", socket.gethostbyname, "example.com")
print("HELD")
""",
        twin="import socket\nprint('FINE' if socket.gethostbyname('localhost') == '127.0.0.1' else 'NO')",
    ),
    Row(
        family="network",
        name="the metadata address, the private nets and the world",
        limit=20,
        within=6,
        attack="""
import errno, os, socket
from aids import *
targets = ["169.254.169.254", "100.100.100.200", "10.0.0.1", "172.17.0.1", "192.168.0.1", "1.1.1.1", "fd00:ec2::254"]
for host in targets:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        client = socket.socket(family, kind)
        client.settimeout(0.3)
        try:
            client.connect((host, 80))
        except OSError as wrong:
            if wrong.errno not in (errno.ENETUNREACH, errno.EHOSTUNREACH):
                breach(f"{host} is thought reachable: {wrong!r}")
        else:
            breach(host)
for line in read("/proc/net/dev").decode().splitlines()[2:]:
    if line.split(":")[0].strip() != "lo":
        breach("interface" + line)
if len(read("/proc/net/route").splitlines()) > 1:
    breach("a route")
print("HELD")
""",
        twin=LOOPBACK,
    ),
    Row(
        family="network",
        name="raw sockets, packet sockets and the kernel's other families",
        attack="""
import socket
from aids import *
kinds = {"raw": (2, 3, 1), "packet": (17, 3, 0x300), "netlink audit": (16, 3, 9),
         "netfilter": (16, 3, 12), "vsock": (40, 1, 0), "alg": (38, 5, 0), "xdp": (44, 3, 0), "bluetooth": (31, 1, 0),
         "can": (29, 3, 1), "smc": (43, 1, 0), "sctp": (2, 1, 132), "packet by unshare": (17, 3, 0x300)}
for name, kind in kinds.items():
    if "unshare" in name:
        libc.unshare(0x50000000)
    attempt(name, socket.socket, *kind)
print("HELD")
""",
        twin="""
import socket
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).close()
socket.socket(socket.AF_INET6, socket.SOCK_STREAM).close()
socket.socketpair()
print("FINE")
""",
    ),
    Row(
        family="network",
        name="interfaces, addresses and routes of the host, asked for by netlink or made",
        shared_kernel="the routes are those of the kernel inside, which has a loopback alone",
        attack="""
import socket, struct
from aids import *
netlink = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
netlink.bind((0, 0))
netlink.settimeout(2)
def ask(kind, flags, payload=b""):
    netlink.send(struct.pack("=IHHII", 16 + len(payload), kind, flags | 1, 1, 0) + payload)
    answers = []
    while True:
        text = netlink.recv(1 << 16)
        while text:
            length, kind_back = struct.unpack_from("=IH", text)
            if kind_back == 2 and (code := struct.unpack_from("=i", text, 16)[0]):
                raise OSError(-code, "netlink")
            if kind_back in (2, 3):
                return answers
            answers.append((kind_back, text[16:length]))
            text = text[(length + 3) & ~3:]
for _, link in ask(18, 0x300, bytes(16)):
    if struct.unpack_from("=i", link, 4)[0] != 1:
        breach("an interface beside the loopback")
for kind, route in ask(26, 0x300, bytes([2]) + bytes(11)):
    if kind == 24 and route[4] in (254, 0) and route[7] != 2:
        breach(f"a route {route[:40]!r}")
address = struct.pack("=BBBBI", 2, 8, 0, 0, 1) + struct.pack("=HH4s", 8, 2, bytes([127, 9, 9, 9]))
attempt("a route of its own", ask, 24, 0x404, struct.pack("=BBBBBBBBI", 2, 0, 0, 0, 254, 4, 0, 1, 0))
attempt("an address of its own", ask, 20, 0x404, address)
attempt("loopback down", ask, 16, 4, struct.pack("=BxHiII", 0, 0, 1, 0, 1))
print("HELD")
""",
        twin="import socket\nprint('FINE' if (1, 'lo') in socket.if_nameindex() else 'NO')",
    ),
    Row(
        family="network",
        name="the host's connections and sockets, read from /proc",
        attack="""
import os
from aids import *
for name in ("tcp", "tcp6", "udp", "udp6", "raw", "packet", "unix"):
    lines = read("/proc/net/" + name).splitlines()[1:] if os.path.exists("/proc/net/" + name) else []
    if lines:
        breach(f"{name}: {len(lines)} sockets, {lines[0]}")
print("HELD")
""",
        twin="print('FINE' if open('/proc/net/tcp').read() else 'NO')",
    ),
    Row(
        family="network",
        name="connecting by tools and other languages",
        language="shell",
        attack="""
(exec 3<>/dev/tcp/127.0.0.1/@TCP@ && head -c 7 <&3 && echo BREACH by bash) 2>&1
command -v curl >/dev/null && curl -s -m 2 http://127.0.0.1:@SERVER@/health && echo BREACH by curl
echo HELD
""",
        twin="echo FINE | cat",
    ),
)
