/** The paths of `/api/v1`, each with the document that it names. */
import { SUBJECT_KINDS, type LiveAnswer, type Subject } from '../../planning/explain/answers/answer.ts';
import { agentsDocument } from '../documents/agents.ts';
import { nodeRows, wasteDocument } from '../documents/blockers.ts';
import { decisionRows } from '../documents/decisions.ts';
import { commonFields, type DocumentInput } from '../documents/document-input.ts';
import { pageOf } from '../documents/paging.ts';
import { obstaclesOf, pendingClass, type RawClass, rawClasses } from '../documents/pending-classes.ts';
import { matchesPool, poolDocuments } from '../documents/pools.ts';
import { scaleUpDocuments, stageDocuments } from '../documents/scale-ups.ts';
import { searchAll } from '../documents/search.ts';
import { timelineOf } from '../documents/timeline.ts';
import { podName } from '../../domain/ids.ts';

/** `status` 503 comes with the time after which it is worth trying again. */
export interface ApiReply {
  readonly status: 200 | 400 | 404 | 503;
  readonly document: object;
  readonly retryAfterSeconds?: number;
}

export interface ApiRequest {
  /** Without `/api/v1/`. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly nowMs: number;
}

export type Explain = (subject: Subject) => Promise<LiveAnswer | 'missing' | undefined>;

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

export function documentFor(request: ApiRequest, input: DocumentInput, explain: Explain): ApiReply | Promise<ApiReply> {
  const list = LISTS[request.path];
  if (list !== undefined) return list(request, input);
  const [, id] = /^pending\/([^/]+)\/obstacles$/.exec(request.path) ?? [];
  if (id !== undefined) return found(obstaclesOf(input, id), `no class ${id} of pending pods that has obstacles`);
  return answer(request.path, explain);
}

const LISTS: Readonly<Record<string, (request: ApiRequest, input: DocumentInput) => ApiReply>> = {
  pending: ({ query }, input) => {
    const { items, ...page } = pageOf(pendingMatches(input, query), ({ id }) => id, cursorOf(query));
    return ok({ ...commonFields(input), ...page, items: items.map((raw) => pendingClass(input, raw)) });
  },
  pools: ({ query }, input) => {
    const q = query.get('q') ?? '';
    return ok({
      ...commonFields(input),
      ...pageOf(
        poolDocuments(input).filter((pool) => matchesPool(pool, q)),
        ({ name }) => name,
        cursorOf(query),
      ),
    });
  },
  nodes: ({ query }, input) => {
    const rows = nodeRows(input, { reason: query.get('reason') ?? undefined, pool: query.get('pool') ?? undefined });
    return ok({ ...commonFields(input), ...pageOf(rows, ({ name }) => name, cursorOf(query)) });
  },
  blockers: (_request, input) => found(wasteDocument(input), 'removals were not decided in the last loop', commonFields(input)),
  search: ({ query }, input) => ok({ ...commonFields(input), items: searchAll(input, query.get('q') ?? '') }),
  timeline: ({ query, nowMs }, input) => {
    const fromMs = timeOf(query.get('from')) ?? nowMs - 6 * HOUR;
    if (Number.isNaN(fromMs)) return badTime('from');
    const pools =
      query
        .get('pools')
        ?.split(',')
        .filter((name) => name !== '') ?? [];
    return ok(timelineOf(input, { fromMs: Math.max(fromMs, nowMs - 8 * DAY), pools, ...numbers(query, ['columns', 'lanes']) }));
  },
  scaleups: ({ query }, input) =>
    ok({
      ...commonFields(input),
      items: scaleUpDocuments(input.history, { pool: query.get('pool') ?? undefined, state: query.get('state') ?? undefined }),
    }),
  agents: (_request, input) => ok(agentsDocument(input)),
  stages: ({ query }, input) => ok({ ...commonFields(input), items: stageDocuments(input.history, query.get('pool') ?? undefined) }),
  decisions: ({ query }, input) => {
    const fromMs = timeOf(query.get('from'));
    if (Number.isNaN(fromMs)) return badTime('from');
    const beforeMs = query.get('cursor') === null ? undefined : Number(query.get('cursor'));
    return ok({ ...commonFields(input), ...decisionRows(input.history, { q: query.get('q') ?? undefined, fromMs, beforeMs }) });
  },
};

function ok(document: object): ApiReply {
  return { status: 200, document };
}

function found(document: object | undefined, message: string, common: object = {}): ApiReply {
  return document === undefined ? { status: 404, document: { message } } : ok({ ...common, ...document });
}

function badTime(name: string): ApiReply {
  return { status: 400, document: { message: `${name} must be a time such as 2026-11-22T03:00:00Z` } };
}

function cursorOf(query: URLSearchParams): string | undefined {
  return query.get('cursor') ?? undefined;
}

/** Milliseconds since the epoch; NaN if it is no time; undefined if it is absent. */
function timeOf(text: string | null): number | undefined {
  return text === null ? undefined : Date.parse(text);
}

/** Whole numbers from 1 to 10,000; others are left out. */
function numbers(query: URLSearchParams, names: readonly string[]): Readonly<Record<string, number>> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = Number(query.get(name) ?? Number.NaN);
      return Number.isInteger(value) && value >= 1 && value <= 10_000 ? [[name, value]] : [];
    }),
  );
}

function pendingMatches(input: DocumentInput, query: URLSearchParams): readonly RawClass[] {
  const verdict = query.get('verdict');
  const q = query.get('q')?.toLowerCase() ?? '';
  return rawClasses(input)
    .filter(({ kind }) => verdict === null || kind === verdict)
    .filter(({ pods }) => q === '' || pods.some((pod) => podName(pod).toLowerCase().includes(q)));
}

/** `pods/NAMESPACE/NAME`, `nodes/NAME`, `pools/NAME`, `decisions/ID`: what `explain --json` prints. A name may be percent-encoded. */
async function answer(path: string, explain: Explain): Promise<ApiReply> {
  const [first = '', ...rest] = path.split('/');
  const kind = SUBJECT_KINDS.find((each) => `${each}s` === first);
  const name = decodedName(rest.join('/'));
  if (kind === undefined || name === undefined || name === '') return { status: 404, document: { message: `not found; paths: ${PATHS}` } };
  const answered = await explain({ kind, name });
  if (answered === undefined) return { status: 503, document: { message: 'no loop has decided anything yet' }, retryAfterSeconds: 2 };
  return answered === 'missing' ? { status: 404, document: { message: `${kind} ${name} not found` } } : ok(answered);
}

/** undefined: a percent sign that encodes nothing. */
function decodedName(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

const PATHS = [
  'overview',
  'events',
  'openapi.json',
  ...Object.keys(LISTS),
  'pending/ID/obstacles',
  ...SUBJECT_KINDS.map((kind) => `${kind}s/NAME`),
]
  .map((path) => `/api/v1/${path}`)
  .join(', ');
