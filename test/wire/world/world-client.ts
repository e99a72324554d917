/** The world's Azure in this process, in virtual time, and requests to it. */
import { Agent, request } from 'node:https';
import { startArmEmulator, type ArmEmulator } from '../../../world/simulator/arm/emulator.ts';
import { VirtualSimClock } from '../../../world/simulator/base/sim-clock.ts';
import { serverTlsAt } from '../../../world/simulator/base/tls.ts';
import type { WorldSpec } from '../../../world/simulator/base/world-spec.ts';
import { ViolationLog } from '../../../world/simulator/base/write-safety.ts';
import { jsonOf } from '../../../src/azure/arm/error-bodies.ts';
import { isRecord } from '../../../src/lib/json.ts';

export interface WorldAnswer {
  readonly method: string;
  readonly uri: URL;
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

export interface WorldRequest {
  readonly method?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface WorldClient {
  readonly arm: ArmEmulator;
  /** An address of the world, or a path of it. */
  send(address: string, request?: WorldRequest): Promise<WorldAnswer>;
  /** Lets time pass. */
  advance(ms: number): void;
  stop(): Promise<void>;
}

const STEP_MS = 500;
/** Longer than the time that passes in the world. */
const TOKEN_SECONDS = 100 * 86_400;

export async function startWorldClient(spec: WorldSpec): Promise<WorldClient> {
  const tls = await serverTlsAt(Date.now());
  const clock = new VirtualSimClock(Math.floor(Date.now() / 1000) * 1000);
  const arm = await startArmEmulator({ spec, clock, tls, violations: new ViolationLog(), knobs: { tokenLifetimeSeconds: TOKEN_SECONDS } });
  const agent = new Agent({ ca: tls.caPem, servername: 'localhost', keepAlive: true });
  const form = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: 'wire',
    client_secret: 'any',
    scope: `${arm.url}/.default`,
  });
  const exchange = (address: string, sent: Required<Pick<Sent, 'method' | 'text' | 'headers'>>): Promise<WorldAnswer> =>
    whileTimePasses(transfer({ ...sent, uri: new URL(address, arm.url), agent }), arm, clock);
  const signIn = await exchange(`/${spec.tenantId}/oauth2/v2.0/token`, {
    method: 'POST',
    text: form.toString(),
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  });
  const token = jsonOf(signIn.body);
  const authorization = `Bearer ${isRecord(token) ? String(token['access_token']) : ''}`;
  return {
    arm,
    send: (address, { method = 'GET', body, headers = {} } = {}) =>
      exchange(address, {
        method,
        text: body === undefined ? '' : JSON.stringify(body),
        headers: { authorization, ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
      }),
    advance: (ms) => clock.advance(ms),
    stop: async () => {
      agent.destroy();
      await arm.stop();
    },
  };
}

/** An answer that the world delays comes when its time has passed. */
async function whileTimePasses<T>(answer: Promise<T>, arm: ArmEmulator, clock: VirtualSimClock): Promise<T> {
  const progress = { settled: false };
  const end = answer.finally(() => {
    progress.settled = true;
  });
  // A rejection is seen by the caller, who awaits the same promise.
  end.catch(() => undefined);
  while (!progress.settled) {
    await new Promise<void>((resolve) => setImmediate(resolve));
    if (arm.delayedRequests() > 0) clock.advance(STEP_MS);
  }
  return end;
}

interface Sent {
  readonly method: string;
  readonly text: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly uri: URL;
  readonly agent: Agent;
}

function transfer({ method, text, headers, uri, agent }: Sent): Promise<WorldAnswer> {
  return new Promise((resolve, reject) => {
    const outgoing = request(
      uri,
      { method, agent, headers: { ...headers, 'content-length': String(Buffer.byteLength(text)) } },
      (incoming) => {
        const chunks: Buffer[] = [];
        incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
        incoming.on('error', reject);
        incoming.on('end', () => {
          const entries = Object.entries(incoming.headers).map(([name, value]) => [name, [value].flat().join(', ')] as const);
          resolve({
            method,
            uri,
            status: incoming.statusCode ?? 0,
            headers: new Map(entries),
            body: Buffer.concat(chunks).toString('utf8'),
          });
        });
      },
    );
    outgoing.on('error', reject);
    outgoing.end(text);
  });
}
