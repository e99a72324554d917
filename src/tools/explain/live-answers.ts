/** Asks a running daemon: at a given address, or the leader of a cluster through the API server. Must not know what answers mean. */
import { request as httpRequest, type ClientRequest, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { AutoscalerError, configError } from '../../lib/errors.ts';
import { defined } from '../../lib/defined.ts';
import { findLeader } from '../../kubernetes/leader-port.ts';
import { createMetrics } from '../../telemetry/metrics.ts';
import { systemClock, type Terminal } from '../../cli/process/process.ts';

/** The options of a command that asks a running daemon, for `parseArgs`. */
export const LIVE_OPTIONS = {
  url: { type: 'string' },
  kubeconfig: { type: 'string' },
  context: { type: 'string' },
  namespace: { type: 'string' },
  'lease-name': { type: 'string' },
  port: { type: 'string' },
  'token-file': { type: 'string' },
} as const;

export type LiveSource = { readonly [Option in keyof typeof LIVE_OPTIONS]?: string | undefined };

export interface LiveReply {
  readonly status: number;
  readonly text: string;
  /** Who answered. */
  readonly from: string;
}

const PORT = 8085;
const TIMEOUT_MS = 20_000;

/** @throws AutoscalerError with one sentence if no daemon can be asked. */
export async function askDaemon(source: LiveSource, path: string, terminal: Terminal, signal: AbortSignal): Promise<LiveReply> {
  const token = source['token-file'] === undefined ? undefined : terminal.readFile(source['token-file']).trim();
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  return source.url === undefined ? askLeader(source, { path, headers }, terminal, signal) : askUrl(source.url, { path, headers }, signal);
}

interface Question {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}

async function askUrl(url: string, { path, headers }: Question, signal: AbortSignal): Promise<LiveReply> {
  if (!/^http:\/\/[^/]+\/?$/.test(url)) throw configError(`--url is "${url}"; it must be an address such as http://127.0.0.1:8085.`);
  const target = new URL(path, url);
  try {
    const reply = await send(httpRequest(target, { headers, signal, timeout: TIMEOUT_MS }));
    return { ...reply, from: url };
  } catch (cause) {
    throw new AutoscalerError({ kind: 'unavailable', effect: 'none' }, `No daemon answers at ${url}: ${messageOf(cause)}.`, { cause });
  }
}

async function askLeader(source: LiveSource, { path, headers }: Question, terminal: Terminal, signal: AbortSignal): Promise<LiveReply> {
  const port = source.port === undefined ? PORT : Number(source.port);
  if (!Number.isInteger(port) || port < 1 || port > 65_535)
    throw configError(`--port is "${source.port ?? ''}"; it must be a whole number from 1 to 65535.`);
  const options = {
    kubeconfigPath: source.kubeconfig ?? terminal.env['KUBECONFIG'] ?? join(terminal.env['HOME'] ?? '', '.kube', 'config'),
    ...defined({ context: source.context }),
    namespace: source.namespace ?? 'kube-system',
    leaseName: source['lease-name'] ?? 'aks-autoscaler',
    identity: 'explain',
    leaderElect: false,
  };
  const found = await findLeader({ options, port, clock: systemClock, metrics: createMetrics() }, signal);
  try {
    const stream = await found.open();
    // The daemon accepts callers that call it localhost.
    const asked = httpRequest({
      path,
      headers: { ...headers, host: `localhost:${port}`, connection: 'close' },
      createConnection: () => stream,
      signal,
      timeout: TIMEOUT_MS,
    });
    return { ...(await send(asked)), from: `the leader ${found.leader}` };
  } finally {
    await found.close();
  }
}

function send(asked: ClientRequest): Promise<Pick<LiveReply, 'status' | 'text'>> {
  return new Promise((resolve, reject) => {
    asked.on('error', reject);
    asked.on('timeout', () =>
      asked.destroy(new AutoscalerError({ kind: 'unavailable', effect: 'none' }, `no answer within ${TIMEOUT_MS / 1000} s`)),
    );
    asked.on('response', (response: IncomingMessage) => {
      const parts: Buffer[] = [];
      response.on('data', (part: Buffer) => parts.push(part));
      response.on('error', reject);
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text: Buffer.concat(parts).toString('utf8') }));
    });
    asked.end();
  });
}

/** The sentence of a refusal. A refusal of access is plain text. */
export function refusalText(text: string): string {
  try {
    return `${(JSON.parse(text) as { readonly message: string }).message}\n`;
  } catch {
    return text;
  }
}

function messageOf(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  return cause.message === '' && 'code' in cause ? String(cause.code) : cause.message;
}
