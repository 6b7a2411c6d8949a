"""A name server on loopback that says what a test wants, each time something else, and a resolver that asks it."""

from __future__ import annotations

import ipaddress
import socket
import struct
import threading

import anyio

TYPES = {1: 4, 28: 6}


class DnsStub:
    """Answers questions for addresses (A and AAAA) over UDP; `answers` are, name by name, one after another."""

    def __init__(self, answers):
        self.answers = {name: [list(each) for each in sequence] for name, sequence in answers.items()}
        self.asked = []
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *error):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            sender.sendto(b"", ("127.0.0.1", self.port))
        self._thread.join()
        self._socket.close()

    def _serve(self):
        while True:
            question, who = self._socket.recvfrom(4096)
            if not question:
                return
            self._socket.sendto(self._answer(question), who)

    def _answer(self, question):
        labels, place = [], 12
        while (length := question[place]) != 0:
            labels.append(question[place + 1 : place + 1 + length].decode())
            place += 1 + length
        (kind,) = struct.unpack("!H", question[place + 1 : place + 3])
        name = ".".join(labels)
        if kind == 1:  # the question for IPv4 comes first: with it, the next answer
            self.asked.append(name)
        turn = self.asked.count(name) - 1
        sequence = self.answers.get(name, [])
        found = sequence[min(turn, len(sequence) - 1)] if sequence else []
        records = [ipaddress.ip_address(each) for each in found if ipaddress.ip_address(each).version == TYPES[kind]]
        body = b"".join(b"\xc0\x0c" + struct.pack("!HHIH", kind, 1, 0, len(r.packed)) + r.packed for r in records)
        head = question[:2] + struct.pack("!HHHHH", 0x8180 if sequence else 0x8183, 1, len(records), 0, 0)
        return head + question[12 : place + 5] + body

    async def resolve(self, host, port):
        """The addresses of a name, as a resolver of the system would give them."""
        found = [address for kind in TYPES for address in await anyio.to_thread.run_sync(self._ask, host, kind)]
        if not found:
            raise OSError(f"no address for {host}")
        return found

    def _ask(self, host, kind):
        name = b"".join(bytes([len(label)]) + label.encode() for label in host.split("."))
        question = struct.pack("!HHHHHH", 7, 0x0100, 1, 0, 0, 0) + name + b"\0" + struct.pack("!HH", kind, 1)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asker:
            asker.settimeout(10)
            asker.sendto(question, ("127.0.0.1", self.port))
            answer = asker.recv(4096)
        (count,) = struct.unpack("!H", answer[6:8])
        place, found = len(question), []
        for _ in range(count):
            (length,) = struct.unpack("!H", answer[place + 10 : place + 12])
            found.append(str(ipaddress.ip_address(answer[place + 12 : place + 12 + length])))
            place += 12 + length
        return found
