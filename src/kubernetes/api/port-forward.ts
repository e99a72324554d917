/**
 * A connection to a port of a pod through the API server, as `kubectl port-forward` makes it: a WebSocket with a channel for bytes and one
 * for errors, each beginning with the port's number. Protocol `v4.channel.k8s.io`. Must not know what is spoken on it.
 */
import { Duplex } from 'node:stream';
import { WebSocket } from 'undici';
import { AutoscalerError } from '../../lib/errors.ts';
import type { Connection } from './connection.ts';

const PROTOCOL = 'v4.channel.k8s.io';
const DATA_CHANNEL = 0;
/** Each channel begins with two bytes of the port's number. */
const PORT_BYTES = 2;

export interface PodPort {
  readonly namespace: string;
  readonly pod: string;
  readonly port: number;
}

/** @throws AutoscalerError `unavailable` if the API server does not open the connection; it does not say why. */
export async function openPodPort(connection: Connection, target: PodPort): Promise<Duplex> {
  const { namespace, pod, port } = target;
  const url = `${connection.server.replace(/^http/, 'ws')}/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(pod)}/portforward?ports=${port}`;
  const socket = new WebSocket(url, { protocols: [PROTOCOL], dispatcher: connection.shared, headers: await connection.authorization() });
  socket.binaryType = 'arraybuffer';
  await opened(socket, target);
  return streamOf(socket);
}

function opened(socket: WebSocket, { namespace, pod, port }: PodPort): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.addEventListener('open', () => resolve());
    socket.addEventListener('error', ({ error }) => {
      const message = `The API server did not open a connection to port ${port} of pod ${namespace}/${pod}.`;
      reject(new AutoscalerError({ kind: 'unavailable', effect: 'none' }, message, { cause: error }));
    });
  });
}

/** Bytes of the data channel. A text on the error channel ends the stream with that text. */
function streamOf(socket: WebSocket): Duplex {
  const seen = new Set<number>();
  const stream = new Duplex({
    read: () => undefined,
    write: (chunk: Buffer, _encoding, done) => {
      socket.send(Buffer.concat([Buffer.from([DATA_CHANNEL]), chunk]));
      done();
    },
    final: (done) => {
      socket.close();
      done();
    },
    destroy: (error, done) => {
      socket.close();
      done(error);
    },
  });
  socket.addEventListener('message', ({ data }) => {
    const bytes = Buffer.from(data as ArrayBuffer);
    const channel = bytes[0] ?? DATA_CHANNEL;
    const content = bytes.subarray(1 + (seen.has(channel) ? 0 : PORT_BYTES));
    seen.add(channel);
    if (content.length === 0) return;
    if (channel === DATA_CHANNEL) stream.push(content);
    else stream.destroy(new AutoscalerError({ kind: 'unavailable', effect: 'none' }, content.toString('utf8').trim()));
  });
  socket.addEventListener('close', () => stream.push(null));
  return stream;
}
