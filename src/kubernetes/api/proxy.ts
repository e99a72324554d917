/**
 * Connections through an HTTP proxy, as `proxy-url` of a kubeconfig asks for: the proxy is asked for a tunnel (CONNECT), and TLS with the
 * API server runs inside, so the proxy sees neither the credential nor the data.
 */
import { request as requestOverHttp, type ClientRequest, type IncomingMessage } from 'node:http';
import { request as requestOverTls } from 'node:https';
import type { Socket } from 'node:net';
import { AutoscalerError } from '../../lib/errors.ts';

/** For the tunnel, milliseconds. */
const TUNNEL_MS = 10_000;

/** Opens a tunnel to `HOST:PORT`. Calls back once. @returns a way to give up. */
export type OpenTunnel = (target: string, callback: (error: Error | null, socket: Socket | null) => void) => () => void;

/** @throws AutoscalerError `config` if it is no address of an HTTP proxy. `path`: the kubeconfig, for the message. */
export function tunnelThrough(proxyUrl: string, path: string): OpenTunnel {
  const proxy = URL.parse(proxyUrl);
  if (proxy === null || !['http:', 'https:'].includes(proxy.protocol)) {
    throw new AutoscalerError(
      { kind: 'config' },
      `The kubeconfig "${path}" sets a proxy (proxy-url) that is not http://HOST:PORT or https://HOST:PORT; SOCKS is not supported.`,
    );
  }
  return (target, callback) => {
    const asked = askForTunnel(proxy, target);
    let isOver = false;
    const end = (error: Error | null, socket: Socket | null): void => {
      if (isOver) return void socket?.destroy();
      isOver = true;
      callback(error, socket);
    };
    asked.once('connect', (response: IncomingMessage, socket: Socket) => {
      if (response.statusCode === 200) return end(null, socket);
      socket.destroy();
      end(new Error(`the proxy ${proxy.host} answered ${response.statusCode ?? 0} to CONNECT ${target}`), null);
    });
    // A proxy that speaks no CONNECT answers as a web server would.
    asked.once('response', (response: IncomingMessage) => {
      response.resume();
      end(new Error(`the proxy ${proxy.host} answered ${response.statusCode ?? 0} to CONNECT ${target}`), null);
    });
    asked.once('error', (error) => end(new Error(`the proxy ${proxy.host} cannot be used: ${error.message}`), null));
    asked.once('timeout', () => asked.destroy(new Error('no answer in time')));
    asked.end();
    return () => asked.destroy();
  };
}

function askForTunnel({ protocol, hostname, port, username, password }: URL, target: string): ClientRequest {
  const isTls = protocol === 'https:';
  const signIn = Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`).toString('base64');
  return (isTls ? requestOverTls : requestOverHttp)({
    host: hostname.replace(/^\[|\]$/g, ''),
    port: port === '' ? (isTls ? 443 : 80) : Number(port),
    method: 'CONNECT',
    path: target,
    agent: false,
    timeout: TUNNEL_MS,
    headers: { host: target, ...(username === '' ? {} : { 'proxy-authorization': `Basic ${signIn}` }) },
  });
}
