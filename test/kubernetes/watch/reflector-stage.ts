/** One reflector of `things` in front of a scripted API server, on a clock of its own, and the lines that the server sends. */
import type { ServerResponse } from 'node:http';
import type { ObjectJson } from '../../../src/kubernetes/api/core-json.ts';
import { Reflector } from '../../../src/kubernetes/watch/reflector.ts';
import type { ReflectorTuning } from '../../../src/kubernetes/watch/reflector-options.ts';
import { Table } from '../../../src/kubernetes/watch/object-table.ts';
import { seededRandom } from '../../../src/lib/random.ts';
import { START_MS } from '../../support/builders.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { silentLog } from '../../support/silent-log.ts';
import { startScriptedApi, type Answer, type Received, type ScriptedApi } from '../scripted-api.ts';

export const object = (name: string, version: number): ObjectJson => ({ metadata: { name, uid: name, resourceVersion: String(version) } });
export const event = (type: string, name: string, version: number): string =>
  `${JSON.stringify({ type, object: object(name, version) })}\n`;
export const bookmark = (version: number, end = false): string =>
  `${JSON.stringify({
    type: 'BOOKMARK',
    object: { metadata: { resourceVersion: String(version), annotations: end ? { 'k8s.io/initial-events-end': 'true' } : {} } },
  })}\n`;

export const isWatchList = ({ query }: Received): boolean => query.get('sendInitialEvents') === 'true';
export const isWatch = ({ query }: Received): boolean => query.get('watch') === 'true';
export function open(response: ServerResponse, ...lines: readonly string[]): void {
  response.writeHead(200, { 'content-type': 'application/json' });
  for (const line of lines) response.write(line);
}

export interface ReflectorStage {
  readonly api: ScriptedApi;
  readonly clock: FakeClock;
  /** Set by `start`. */
  readonly reflector: Reflector;
  start(answer: Answer, tuning?: Partial<ReflectorTuning>): void;
  held(): readonly string[];
  watches(): readonly Received[];
  /** Lets the reflector's waits pass, a second of its own time at each turn. */
  readonly waiting: () => Promise<void>;
  end(): Promise<void>;
}

export async function openReflectorStage(): Promise<ReflectorStage> {
  const api = await startScriptedApi();
  const clock = new FakeClock(START_MS);
  const stop = new AbortController();
  const table = new Table<string>({
    keyOf: ({ metadata }) => metadata?.name ?? '',
    project: ({ metadata }) => `${metadata?.name ?? ''}@${metadata?.resourceVersion ?? ''}`,
  });
  const { rest, metrics } = api;
  const deps = { resource: 'things', path: '/things', table, rest, clock, random: seededRandom(1), log: silentLog(), metrics };
  let reflector = new Reflector(deps);
  return {
    api,
    clock,
    get reflector() {
      return reflector;
    },
    start: (answer, tuning = {}) => {
      api.answer(answer);
      reflector = new Reflector({ ...deps, tuning });
      reflector.start(stop.signal);
    },
    held: () => [...table.items.values()].sort(),
    watches: () => api.received.filter(isWatch),
    waiting: () => clock.advance(1_000),
    end: async () => {
      stop.abort();
      await reflector.ended();
      await api.stop();
    },
  };
}
