"""Runs each command of Azure's CLI in a fork of one process that has loaded its modules, since loading them takes longer than a command does.

`forked-az.py serve SOCKET` is that process: it forks for each caller, and the fork runs the CLI's own main module with the caller's arguments,
environment, folder and files. Called otherwise, this is `az`: it hands over what it was called with, and ends as the fork does. The socket is
AZ_SOCKET. A module that is missing in another version of the CLI is loaded by each fork that needs it.
"""
import os
import sys

LOADED = """
azure.cli.core azure.cli.core.telemetry azure.cli.core.intercept_survey azure.cli.core.commands.client_factory azure.cli.core.aaz
azure.cli.command_modules.acs.commands azure.cli.command_modules.acs.custom azure.mgmt.containerservice azure.mgmt.compute azure.mgmt.resource msal
""".split()


def main():
    if sys.argv[1:2] == ['serve']:
        serve(sys.argv[2])
    else:
        sys.exit(call(os.environ['AZ_SOCKET']))


def call(path):
    import array
    import json
    import socket

    connection = socket.socket(socket.AF_UNIX)
    connection.connect(path)
    request = json.dumps({'args': sys.argv[1:], 'folder': os.getcwd(), 'variables': dict(os.environ)}).encode() + b'\n'
    files = array.array('i', [0, 1, 2])
    sent = connection.sendmsg([request], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, files)])
    connection.sendall(request[sent:])
    end = connection.recv(1)
    # A fork that says nothing was killed.
    return end[0] if end else 137


def serve(path):
    import importlib
    import signal
    import socket

    server = socket.socket(socket.AF_UNIX)
    server.bind(path)
    server.listen(64)
    # Callers may come now; they wait.
    print('listening', flush=True)
    for name in LOADED:
        try:
            importlib.import_module(name)
        except ImportError:
            pass
    # The system takes note of the ends of forks.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        connection, _ = server.accept()
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            server.close()
            answer(connection)
        connection.close()


def answer(connection):
    import array
    import atexit
    import json
    import runpy
    import socket

    files = array.array('i')
    request, sent, _, _ = connection.recvmsg(1 << 20, socket.CMSG_SPACE(3 * files.itemsize))
    for _, _, data in sent:
        files.frombytes(data)
    while not request.endswith(b'\n'):
        request += connection.recv(1 << 20)
    asked = json.loads(request)
    for at, file in enumerate(files):
        os.dup2(file, at)
    os.chdir(asked['folder'])
    os.environ.clear()
    os.environ.update(asked['variables'])
    sys.argv = ['az', *asked['args']]
    code = run(runpy)
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    connection.sendall(bytes([code & 255]))
    os._exit(code & 255)


def run(runpy):
    """Ends as the interpreter would."""
    try:
        runpy.run_module('azure.cli', run_name='__main__', alter_sys=True)
        return 0
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        print(end.code, file=sys.stderr)
        return 1
    except BaseException:
        sys.excepthook(*sys.exc_info())
        return 1


main()
