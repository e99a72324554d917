/** An HTTP server that answers as a test says, and what a part of the adapter needs to talk to it. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { Agent } from 'undici';
import type { Connection } from '../../src/kubernetes/api/connection.ts';
import { createRest, type Rest } from '../../src/kubernetes/api/rest.ts';
import { START_MS } from '../support/builders.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { freePort } from '../../world/simulator/real-control-plane/free-ports.ts';
import { createMetrics, type Metrics } from '../../src/telemetry/metrics.ts';

export interface Received {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly body: Record<string, unknown>;
  readonly headers: IncomingMessage['headers'];
}

export type Answer = (request: Received, response: ServerResponse) => void;

export interface ScriptedApi {
  readonly url: string;
  readonly received: readonly Received[];
  readonly rest: Rest;
  /** Ends calls that take more than 10 s. */
  readonly clock: FakeClock;
  readonly metrics: Metrics;
  /** Answers everything from now on. */
  answer(next: Answer): void;
  /** Refuses connections and cuts the present ones. */
  goAway(): Promise<void>;
  comeBack(): Promise<void>;
  stop(): Promise<void>;
}

export async function startScriptedApi(first: Answer = (_request, response) => json(response, 200, {})): Promise<ScriptedApi> {
  const received: Received[] = [];
  let current = first;
  const server = createServer((message, response) => {
    let text = '';
    message.setEncoding('utf8');
    message.on('data', (chunk: string) => (text += chunk));
    message.on('end', () => {
      const url = new URL(message.url ?? '/', 'http://localhost');
      const request = {
        method: message.method ?? '',
        path: url.pathname,
        query: url.searchParams,
        body: text === '' ? {} : (JSON.parse(text) as Record<string, unknown>),
        headers: message.headers,
      };
      received.push(request);
      current(request, response);
    });
  });
  const listen = (port: number): Promise<void> => new Promise((resolve) => server.listen(port, '127.0.0.1', resolve));
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  // A port that the kernel chose may be taken while the server is away.
  const port = await freePort();
  await listen(port);
  const agent = new Agent();
  const connection: Connection = {
    server: `http://127.0.0.1:${port}`,
    shared: agent,
    lease: agent,
    authorization: async () => ({ authorization: 'Bearer test' }),
    forgetAuthorization: () => undefined,
    close: () => agent.destroy(),
  };
  const metrics = createMetrics();
  const clock = new FakeClock(START_MS);
  return {
    url: connection.server,
    received,
    metrics,
    clock,
    rest: createRest({ connection, clock, metrics, userAgent: 'test', timeoutMs: 10_000 }),
    answer: (next) => {
      current = next;
    },
    goAway: close,
    comeBack: () => listen(port),
    stop: async () => {
      await agent.destroy();
      if (server.listening) await close();
    },
  };
}

export function json(response: ServerResponse, status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
}

export function refusal(response: ServerResponse, code: number, reason: string, headers: Readonly<Record<string, string>> = {}): void {
  json(response, code, { kind: 'Status', status: 'Failure', code, reason, message: `refused: ${reason}` }, headers);
}

/** Turns the event loop until the condition holds. The limit only ends a test that hangs, however busy the machine is. */
export async function until(condition: () => boolean, step: () => Promise<void> | void = () => undefined): Promise<void> {
  const end = Date.now() + 120_000;
  while (!condition()) {
    if (Date.now() > end) throw new Error(`never: ${condition.toString()}`);
    await step();
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
}
