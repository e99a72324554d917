/**
 * Whether the daemon has received what the API server sent. No request in flight stands for the events of a watch, which has no end, and the
 * kernel of a busy computer delivers them late: time must not pass before. Must not know what is sent.
 */
import type { Socket } from 'node:net';
import { clientConnectionChanges, clientSockets } from './client-traffic.ts';

/** The API server's side of its connections. */
interface Sender {
  /** `https://HOST:PORT` */
  readonly url: string;
  /** Bytes sent so far to the client at this port; undefined: there is no such connection, or not any more. */
  bytesSentTo(clientPort: number): number | undefined;
  /** Grows with each write to a client and with each connection that begins or ends. */
  activity(): number;
}

export class Arrivals {
  readonly #sender: Sender;
  readonly #port: number;
  /** The activity of both sides when nothing was on its way last: until it grows, nothing is. */
  #settled = { sent: -1, connections: -1 };

  constructor(sender: Sender) {
    this.#sender = sender;
    this.#port = Number(new URL(sender.url).port);
  }

  /** Whether bytes, or the end of a connection, are still on their way to this process. */
  arePending(): boolean {
    const [sent, connections] = [this.#sender.activity(), clientConnectionChanges()];
    if (sent === this.#settled.sent && connections === this.#settled.connections) return false;
    for (const socket of clientSockets()) if (socket.remotePort === this.#port && this.#isBehind(socket)) return true;
    this.#settled = { sent, connections };
    return false;
  }

  #isBehind({ localPort, bytesRead }: Socket): boolean {
    const sent = localPort === undefined ? undefined : this.#sender.bytesSentTo(localPort);
    return sent === undefined || sent > bytesRead;
  }
}
