/**
 * Ends HTTP/2 connections on which the peer has fallen silent. All watches share one connection with an API server that speaks HTTP/2, so
 * a path that drops packets would silence them together, and each restart would go over the same connection until the operating system
 * gives it up, a quarter of an hour later. A living peer answers each PING. Must not know what the connection carries.
 */
import { TLSSocket } from 'node:tls';

export interface Liveness {
  /** How often a PING is sent, ms. */
  readonly pingMs: number;
  /** Fires when answers are looked for next, after more than two PINGs. */
  readonly nextLook: () => AbortSignal;
}

/** Uses real time on purpose: a network does not follow an injected clock. */
export const LIVENESS: Liveness = { pingMs: 20_000, nextLook: () => AbortSignal.timeout(45_000) };

/** Bytes of a connection so far. */
interface Traffic {
  readonly bytesRead: number;
  readonly bytesWritten: number;
}

/** Whether the peer sent nothing since the last look although it was sent something. */
export function isSilent(before: Traffic, now: Traffic): boolean {
  return now.bytesWritten > before.bytesWritten && now.bytesRead === before.bytesRead;
}

/**
 * Destroys the socket of an HTTP/2 connection when its peer was silent at two looks in a row: a process that was suspended finds unread
 * answers at the first one. Other sockets end with the limits of their calls.
 */
export function endWhenDead(socket: unknown, { nextLook }: Liveness): void {
  if (!(socket instanceof TLSSocket) || socket.alpnProtocol !== 'h2') return;
  const look = ({ bytesRead, bytesWritten }: Traffic, wasSilent: boolean): void => {
    nextLook().addEventListener('abort', () => {
      if (socket.destroyed) return;
      const silent = isSilent({ bytesRead, bytesWritten }, socket);
      // guard: a connection of all watches whose peer is silent is given up
      if (silent && wasSilent) socket.destroy(new Error('the connection is dead: no answer to a PING'));
      else look({ bytesRead: socket.bytesRead, bytesWritten: socket.bytesWritten }, silent);
    });
  };
  look({ bytesRead: socket.bytesRead, bytesWritten: socket.bytesWritten }, false);
}
