/** How long operations took, by the times of the answers: from the answer that began one to the first read that shows its end. */
import { jsonOf } from '../../src/azure/arm/error-bodies.ts';
import { compareBy } from '../../src/lib/comparison.ts';
import type { Interaction } from './recordings/interaction.ts';
import { isRecord } from '../../src/lib/json.ts';

export interface OperationTimes {
  /** Method and type of resource: `PUT managedClusters/agentPools`. */
  readonly verb: string;
  readonly count: number;
  /** Seconds between two reads limit how exact it is. */
  readonly medianSeconds: number;
  readonly longestSeconds: number;
  /** Words between start and end. */
  readonly words: readonly string[];
  /** Headers of the first answer that lead to the operation. */
  readonly headers: readonly string[];
}

interface Begun {
  readonly verb: string;
  readonly atMs: number;
  readonly headers: string;
  readonly words: Set<string>;
}

interface Ended extends Begun {
  readonly seconds: number;
}

const LINKS = ['azure-asyncoperation', 'location', 'retry-after'];
const END = /^(?:succeeded|failed|canceled)$/i;

/** Only of files whose answers have a date. */
export function operationTimes(interactions: readonly Interaction[]): readonly OperationTimes[] {
  const running = new Map<string, Begun>();
  const ended: Ended[] = [];
  for (const each of interactions) {
    if (each.dateMs === undefined) continue;
    const id = idOf(each.uri.pathname);
    const begun = running.get(`${each.file}\n${id}`);
    if (begun !== undefined && each.method === 'GET') {
      const word = wordOf(each);
      if (!END.test(word)) begun.words.add(word);
      else if (running.delete(`${each.file}\n${id}`)) ended.push({ ...begun, seconds: (each.dateMs - begun.atMs) / 1000 });
      continue;
    }
    const link = each.headers.get('azure-asyncoperation');
    if (each.method === 'GET' || link === undefined || !URL.canParse(link)) continue;
    const headers = LINKS.filter((name) => each.headers.has(name)).join(' + ');
    running.set(`${each.file}\n${idOf(new URL(link).pathname)}`, { verb: verbOf(each), atMs: each.dateMs, headers, words: new Set() });
  }
  return summariesOf(ended);
}

function summariesOf(ended: readonly Ended[]): readonly OperationTimes[] {
  const verbs = [...new Set(ended.map(({ verb }) => verb))];
  const summary = (verb: string): OperationTimes => {
    const alike = ended.filter((each) => each.verb === verb).toSorted((left, right) => left.seconds - right.seconds);
    return {
      verb,
      count: alike.length,
      medianSeconds: alike[alike.length >> 1]?.seconds ?? 0,
      longestSeconds: alike.at(-1)?.seconds ?? 0,
      words: [...new Set(alike.flatMap(({ words }) => [...words]))].toSorted(),
      headers: [...new Set(alike.map(({ headers }) => headers))].toSorted(),
    };
  };
  return verbs.map(summary).toSorted(compareBy(({ verb }) => verb));
}

function wordOf({ body, status }: Interaction): string {
  const document = jsonOf(body);
  const word = isRecord(document) ? document['status'] : undefined;
  if (typeof word === 'string') return word;
  return status === 202 ? 'InProgress' : 'Succeeded';
}

/** The last segment of an address. */
function idOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1).toLowerCase();
}

/** Types alone, without names. */
function verbOf({ method, uri }: Interaction): string {
  const segments = uri.pathname.slice(uri.pathname.lastIndexOf('/providers/') + '/providers/'.length).split('/');
  return `${method} ${segments.filter((_segment, at) => at % 2 === 1).join('/')}`;
}
