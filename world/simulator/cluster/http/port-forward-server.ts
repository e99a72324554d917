/**
 * `GET .../pods/NAME/portforward` over WebSocket, as the API server serves it: two channels per port, one for bytes and one for errors;
 * each begins with the port's number. Source: kubernetes/kubernetes, staging/src/k8s.io/kubelet/pkg/cri/streaming/portforward
 * (websocket.go), protocol `v4.channel.k8s.io`. A simulated pod has no network: the world says where a port of it leads.
 * Must not know API objects.
 */
import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { FrameReader, frameOf, OPCODES } from './websocket-frames.ts';

/** RFC 6455, section 1.3. */
const HANDSHAKE_GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
const PROTOCOL = 'v4.channel.k8s.io';
const DATA_CHANNEL = 0;
const ERROR_CHANNEL = 1;

/** Where a pod's port leads: a port of this machine. undefined: nothing listens there. */
export type PodPorts = (pod: string, port: number) => number | undefined;

export interface ForwardRequest {
  /** `namespace/name`. */
  readonly pod: string;
  readonly port: number;
}

/** undefined: another path, or not exactly one port. */
export function forwardTarget(url: string): ForwardRequest | undefined {
  const { pathname, searchParams } = new URL(url, 'https://localhost');
  const [, namespace, name] = /^\/api\/v1\/namespaces\/([^/]+)\/pods\/([^/]+)\/portforward$/.exec(pathname) ?? [];
  const ports = searchParams.getAll('ports').map(Number);
  const [port = 0] = ports;
  if (namespace === undefined || name === undefined || ports.length !== 1 || !Number.isInteger(port) || port < 1) return undefined;
  return { pod: `${decodeURIComponent(namespace)}/${decodeURIComponent(name)}`, port };
}

/** Takes the connection over. The handshake must have been authorised before. */
export function forwardPort(message: IncomingMessage, socket: Duplex, { pod, port }: ForwardRequest, ports: PodPorts): void {
  const offered = (message.headers['sec-websocket-protocol'] ?? '').split(',').map((each) => each.trim());
  const key = message.headers['sec-websocket-key'];
  if (key === undefined || !offered.includes(PROTOCOL)) {
    socket.end('HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n\r\n');
    return;
  }
  const accept = createHash('sha1').update(`${key}${HANDSHAKE_GUID}`).digest('base64');
  socket.write(
    `HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\nsec-websocket-accept: ${accept}\r\nsec-websocket-protocol: ${PROTOCOL}\r\n\r\n`,
  );
  for (const channel of [DATA_CHANNEL, ERROR_CHANNEL]) socket.write(portFrame(channel, port));
  const local = ports(pod, port);
  if (local === undefined) {
    fail(socket, `error forwarding port ${port} to pod ${pod}: connect to localhost:${port}: connection refused`);
    return;
  }
  join(socket, connect(local, '127.0.0.1'), `error forwarding port ${port} to pod ${pod}`);
}

function join(socket: Duplex, target: Socket, trouble: string): void {
  const reader = new FrameReader();
  socket.on('data', (bytes: Buffer) => {
    for (const { opcode, payload } of reader.push(bytes)) {
      if (opcode === OPCODES.close) socket.end(frameOf(OPCODES.close, payload));
      else if (opcode === OPCODES.ping) socket.write(frameOf(OPCODES.pong, payload));
      else if (opcode === OPCODES.binary && payload[0] === DATA_CHANNEL) target.write(payload.subarray(1));
    }
  });
  target.on('data', (bytes: Buffer) => socket.write(frameOf(OPCODES.binary, Buffer.concat([Buffer.from([DATA_CHANNEL]), bytes]))));
  target.on('error', (error) => fail(socket, `${trouble}: ${error.message}`));
  target.on('close', () => socket.end(frameOf(OPCODES.close, Buffer.alloc(0))));
  socket.on('close', () => target.destroy());
  socket.on('error', () => target.destroy());
}

function fail(socket: Duplex, text: string): void {
  socket.write(frameOf(OPCODES.binary, Buffer.concat([Buffer.from([ERROR_CHANNEL]), Buffer.from(text)])));
  socket.end(frameOf(OPCODES.close, Buffer.alloc(0)));
}

function portFrame(channel: number, port: number): Buffer {
  const bytes = Buffer.alloc(3);
  bytes.writeUInt8(channel, 0);
  bytes.writeUInt16LE(port, 1);
  return frameOf(OPCODES.binary, bytes);
}
