/** The production server and API over given loops. */
import type { DocumentInput } from '../../src/api/documents/document-input.ts';
import { Api, type ApiDeps } from '../../src/api/served/api.ts';
import { type HttpDeps, serveHttp } from '../../src/cli/serving/http.ts';
import type { HttpEndpoint } from '../../src/cli/serving/listener.ts';
import { systemClock } from '../../src/cli/process/process.ts';
import { pageReader } from '../../src/cli/serving/page-file.ts';
import { START_MS } from '../support/builders.ts';

export interface ServedOptions {
  readonly input?: () => DocumentInput | undefined;
  /** The daemon's time, milliseconds since the epoch. Default: ten seconds after the loop. */
  readonly now?: () => number;
  readonly deps?: Partial<HttpDeps>;
  readonly explain?: ApiDeps['explain'];
  readonly token?: string;
}

export interface Served {
  readonly endpoint: HttpEndpoint;
  readonly api: Api;
}

/** Built once: every server of a test file has the same. */
const page = pageReader();

export async function serveLoops({
  input = () => undefined,
  now,
  deps = {},
  explain = async () => 'missing',
  token,
}: ServedOptions): Promise<Served> {
  const clock = {
    now: now ?? (() => (input()?.report.observation.nowMs ?? START_MS) + 10_000),
    monotonic: () => performance.now(),
    sleep: systemClock.sleep.bind(systemClock),
  };
  const api = new Api({ clock, input, explain });
  const endpoint = await serveHttp(
    { address: '127.0.0.1:0', host: '127.0.0.1', port: 0, debug: { token: token === undefined ? undefined : () => token } },
    {
      metrics: async () => ({ contentType: 'text/plain', text: '' }),
      health: () => ({ healthy: true, reason: '' }),
      ready: () => true,
      duty: () => ({ leads: true, mayAct: true, sentence: 'leads; may act' }),
      agents: () => [],
      clusters: () => ({}),
      templates: () => [],
      snapshot: () => undefined,
      withheld: () => undefined,
      report: () => undefined,
      refresh: () => ({ kind: 'begun' }),
      page,
      api,
      ...deps,
    },
  );
  return { endpoint, api };
}
