"""Runs a command on a pseudo-terminal of its own: on-terminal.py COLUMNS ROWS COMMAND...

What comes in on stdin is typed there, what the terminal shows goes to stdout, and the exit code is the command's. When it
is ended itself, the terminal goes away, as a window that is closed.
"""
import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios

columns, rows, *command = sys.argv[1:]
child, terminal = pty.fork()
if child == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", int(rows), int(columns), 0, 0))
    os.execvp(command[0], command)

signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
sources = [terminal, 0]
while True:
    ready, _, _ = select.select(sources, [], [])
    if 0 in ready:
        typed = os.read(0, 65536)
        if typed:
            os.write(terminal, typed)
        else:
            sources.remove(0)
    if terminal in ready:
        try:
            shown = os.read(terminal, 65536)
        except OSError:
            shown = b""
        if not shown:
            break
        os.write(1, shown)

_, status = os.waitpid(child, 0)
sys.exit(os.waitstatus_to_exitcode(status) % 256)
