/** Makes a case that somebody has to read as small as it can be: whatever can go without the difference going, goes. */
import { askPlanner, disagreements, type ParityCase, type ParityObject } from '../../differential/parity-case.ts';
import { knownDifference } from '../../differential/known-differences.ts';
import { MINOR_VARIABLE } from '../given.ts';
import type { RealScheduler } from './real-scheduler.ts';

/** What the API server fills in itself, and what says which object is meant. */
const KEPT = new Set(['kind', 'apiVersion', 'name', 'namespace', 'uid', 'nodeName', 'containers', 'image', 'allocatable']);
/** A small machine has other things to do. */
const MOST_QUESTIONS = 150;

/** The case again, asked anew: undefined when there is no difference (or the API server refuses the case). */
export async function askAgain(scheduler: RealScheduler, given: Pick<ParityCase, 'cluster' | 'pod'>): Promise<ParityCase | undefined> {
  const { cluster, asked, invalid } = await scheduler.ask(given.cluster, [given.pod]);
  const [only] = asked;
  if (only === undefined || invalid.length > 0) return undefined;
  const whole = [...cluster, ...only.claims];
  const answer = askPlanner(whole, only.pod);
  const nodes = only.verdict.nodes.filter((name) => answer.reasons.has(name));
  const wrong = disagreements(whole, nodes, answer);
  const { message } = only.verdict;
  const again = { cluster: whole, pod: only.pod, scheduler: nodes, ...(message === undefined ? {} : { message }) };
  if (wrong.length === 0 || knownDifference({ ...again, minor: process.env[MINOR_VARIABLE] }, answer) !== undefined) return undefined;
  return { name: wrong.join('; '), ...again };
}

/** The smallest case that the patience allows. */
export async function minimise(scheduler: RealScheduler, given: ParityCase): Promise<ParityCase> {
  let best = given;
  let questions = 0;
  const take = async (smaller: Pick<ParityCase, 'cluster' | 'pod'>): Promise<boolean> => {
    if (questions >= MOST_QUESTIONS) return false;
    questions += 1;
    const again = await askAgain(scheduler, smaller);
    if (again !== undefined) best = again;
    return again !== undefined;
  };
  for (let at = best.cluster.length - 1; at >= 0; at--) {
    if (best.cluster[at]?.kind === 'Namespace') continue;
    await take({ ...best, cluster: best.cluster.filter((_, other) => other !== at) });
  }
  for (const path of pathsIn(best.pod)) await take({ ...best, pod: without(best.pod, path) });
  for (const { metadata, kind } of best.cluster) {
    const find = (): ParityObject | undefined => best.cluster.find((each) => each.kind === kind && each.metadata.name === metadata.name);
    const object = find();
    for (const path of object === undefined ? [] : pathsIn(object)) {
      const now = find();
      if (now === undefined) break;
      await take({ ...best, cluster: best.cluster.map((each) => (each === now ? without(now, path) : each)) });
    }
  }
  return best;
}

type Path = readonly (string | number)[];

/** Every branch that may be cut, the thick ones first; of lists from the back, so that the places of the rest stay. */
function pathsIn(object: ParityObject): readonly Path[] {
  const walk = (value: unknown, path: Path): readonly Path[] => {
    if (typeof value !== 'object' || value === null) return [];
    const entries = Array.isArray(value) ? [...value.entries()].toReversed() : Object.entries(value);
    return entries.flatMap(([key, inner]: readonly [string | number, unknown]) => {
      const own = [...path, key];
      return [...(KEPT.has(String(key)) ? [] : [own]), ...walk(inner, own)];
    });
  };
  return [...walk(object['spec'], ['spec']), ...walk(object.metadata.labels ?? {}, ['metadata', 'labels'])];
}

function without(object: ParityObject, path: Path): ParityObject {
  const copy = structuredClone(object);
  const parent = path.slice(0, -1).reduce<unknown>((value, key) => (value as Readonly<Record<string, unknown>> | undefined)?.[key], copy);
  const last = path.at(-1);
  if (Array.isArray(parent) && typeof last === 'number') parent.splice(last, 1);
  else if (typeof parent === 'object' && parent !== null && last !== undefined) Reflect.deleteProperty(parent, last);
  return copy;
}
