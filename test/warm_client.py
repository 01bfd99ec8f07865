"""Stands in for `python -m trainer warm`: passes its streams to `warm_parent.py` and ends with the fork that got them.

python warm_client.py SOCKET
"""

import json
import os
import socket
import sys

connection = socket.socket(socket.AF_UNIX)
connection.connect(sys.argv[1])
order = json.dumps({"cwd": os.getcwd(), "env": dict(os.environ)}).encode()
socket.send_fds(connection, [len(order).to_bytes(4, "big")], [0, 1, 2])
connection.sendall(order)
for stream in (0, 1, 2):
    os.close(stream)
connection.recv(1)
