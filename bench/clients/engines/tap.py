"""A witness between client and engine: reads the loopback's packets and says, for each streamed request, when its last byte and
each event passed, by the kernel's own stamps. It touches nothing: client and engine do not know of it. Needs root, Linux."""
import json
import re
import socket
import struct
import threading
from dataclasses import dataclass, field

SO_TIMESTAMPNS = 35
ETH_P_IP = 0x0800
PACKET_OUTGOING = 4


@dataclass
class Answer:
    """One request as it passed, times in ns of the wall clock; None where it never came."""
    name: str = ""
    path: str = ""
    opened: int = 0  # the connection's first packet, if this is its first request
    sent: int = 0  # last packet of the request
    first_choice: int = None  # an event with a choice, text or not
    first_text: int = None  # an event that delivers text
    last_text: int = None
    done: int = None
    text_events: int = 0
    usage: dict = None
    server_timing: dict = None  # nvext.timing of Dynamo
    unread: int = 0  # events that were no JSON
    gaps_ms: list = field(default_factory=list)

    def add(self, at, event):
        if event.strip() == "[DONE]":
            self.done = self.done or at
            return
        try:
            data = json.loads(event)
        except ValueError:
            self.unread += 1
            return
        self.usage = data.get("usage") or self.usage
        self.server_timing = (data.get("nvext") or {}).get("timing") or self.server_timing
        for choice in data.get("choices") or []:
            self.first_choice = self.first_choice or at
            delta = choice.get("delta") or {}
            if choice.get("text") or any(delta.get(k) for k in ("content", "reasoning_content", "reasoning")):
                if self.last_text:
                    self.gaps_ms.append((at - self.last_text) / 1e6)
                self.first_text = self.first_text or at
                self.last_text = at
                self.text_events += 1


class _Connection:
    def __init__(self):
        self.opened, self.request, self.reply, self.answer = 0, b"", b"", None
        self.next_request, self.next_reply = None, None


class Tap(threading.Thread):
    """Watches one port of 127.0.0.1 until `stop`; `answers` then holds every streamed request in order of sending."""

    def __init__(self, port):
        super().__init__(daemon=True)
        self.port, self.answers, self.connections, self.lost = port, [], {}, 0
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ETH_P_IP))
        self.socket.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        self.socket.setsockopt(socket.SOL_SOCKET, 33, 64 << 20)  # SO_RCVBUFFORCE
        self.socket.bind(("lo", ETH_P_IP))
        self.socket.settimeout(0.2)
        self.over = threading.Event()

    def stop(self):
        self.over.set()
        self.join()
        statistics = self.socket.getsockopt(263, 6, 8)  # SOL_PACKET, PACKET_STATISTICS
        self.lost += struct.unpack("II", statistics)[1]
        self.socket.close()
        return [a for a in self.answers if a.first_choice]

    def run(self):
        while not self.over.is_set():
            try:
                packet, control, _, address = self.socket.recvmsg(65536 + 128, 256)
            except TimeoutError:
                continue
            if address[2] == PACKET_OUTGOING:
                continue  # each packet of the loopback is seen twice
            at = next((s * 10**9 + ns for level, kind, raw in control if kind == SO_TIMESTAMPNS for s, ns in [struct.unpack("qq", raw)]), 0)
            self.packet(at, packet)

    def packet(self, at, packet):
        header = (packet[0] & 15) * 4
        if packet[9] != socket.IPPROTO_TCP:
            return
        source, target, sequence = struct.unpack_from(">HHI", packet, header)
        if self.port not in (source, target):
            return
        length = struct.unpack_from(">H", packet, 2)[0] or len(packet)
        payload = packet[header + (packet[header + 12] >> 4) * 4:length]
        flags = packet[header + 13]
        client = source if target == self.port else target
        if target == self.port and flags & 2:  # SYN
            self.connections[client] = _Connection()
            self.connections[client].opened = at
        connection = self.connections.setdefault(client, _Connection())
        if not payload:
            return
        if target == self.port:
            if connection.next_request is not None and sequence != connection.next_request:
                return  # sent again
            connection.next_request = (sequence + len(payload)) & 0xFFFFFFFF
            self.from_client(connection, at, payload)
        else:
            if connection.next_reply is not None and sequence != connection.next_reply:
                return
            connection.next_reply = (sequence + len(payload)) & 0xFFFFFFFF
            self.from_server(connection, at, payload)

    def from_client(self, connection, at, payload):
        connection.request += payload
        head, found, body = connection.request.partition(b"\r\n\r\n")
        if not found:
            return
        text = head.decode("latin-1")
        length = re.search(r"(?im)^content-length: *(\d+)", text)
        if length and len(body) < int(length[1]):
            return
        connection.request = b""
        name = re.search(r"(?im)^x-request-id: *(\S+)", text)
        answer = Answer(name=name[1] if name else "", path=text.split(" ")[1], opened=connection.opened, sent=at)
        connection.opened = 0
        connection.answer, connection.reply = answer, b""
        if text.startswith("POST"):
            self.answers.append(answer)

    @staticmethod
    def from_server(connection, at, payload):
        answer = connection.answer
        if answer is None:
            return
        connection.reply += payload
        # The borders of HTTP chunks stand between events, for all engines looked at: between two `data:` lines they are noise.
        while True:
            start = connection.reply.find(b"data:")
            end = connection.reply.find(b"\n\n", start) if start >= 0 else -1
            if end < 0:
                return
            answer.add(at, connection.reply[start + 5:end].decode("utf-8", "replace"))
            connection.reply = connection.reply[end + 2:]
