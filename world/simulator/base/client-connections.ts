/** The open connections of a server: which of them may be opened, how much was sent on each, and their cut. */
import type { Server } from 'node:https';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';

type Writing = (...given: Parameters<TLSSocket['write']>) => boolean;

export class ClientConnections {
  readonly #sockets = new Set<Socket>();
  /** After the handshake, by the port of the client. */
  readonly #encrypted = new Map<number, TLSSocket>();
  #reachable = true;
  #activity = 0;

  constructor(server: Server) {
    server.on('connection', (socket: Socket) => this.#admit(socket));
    server.on('secureConnection', (socket: TLSSocket) => this.#noteEncrypted(socket));
  }

  /** Bytes sent so far to the client at this port, before encryption; undefined: there is no such connection. */
  bytesSentTo(clientPort: number): number | undefined {
    const socket = this.#encrypted.get(clientPort);
    return socket?.destroyed === false ? socket.bytesWritten : undefined;
  }

  /** Grows with each write to a client and with each connection that begins or ends. */
  get activity(): number {
    return this.#activity;
  }

  /** While unreachable, present and new connections are closed at once. */
  setReachable(reachable: boolean): void {
    this.#reachable = reachable;
    if (!reachable) this.cutAll();
  }

  cutAll(): void {
    this.#activity++;
    for (const socket of this.#sockets) socket.destroy();
    this.#encrypted.clear();
  }

  #admit(socket: Socket): void {
    if (!this.#reachable) {
      socket.destroy();
      return;
    }
    this.#sockets.add(socket);
    socket.on('close', () => this.#sockets.delete(socket));
    socket.on('error', () => socket.destroy());
  }

  #noteEncrypted(socket: TLSSocket): void {
    const { remotePort } = socket;
    if (remotePort === undefined) return;
    this.#encrypted.set(remotePort, socket);
    this.#activity++;
    // The responses of a connection, and whatever it is upgraded to, write by this method.
    const write: Writing = socket.write.bind(socket);
    const counted: Writing = (...given) => {
      this.#activity++;
      return write(...given);
    };
    Object.assign(socket, { write: counted });
    socket.on('close', () => {
      this.#activity++;
      if (this.#encrypted.get(remotePort) === socket) this.#encrypted.delete(remotePort);
    });
  }
}
