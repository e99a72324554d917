/** Says when a repack begins and how it ends, and counts both. Must not know how a set is found. */
import type { LoopListener } from '../../domain/loop-report.ts';
import type { NodeName } from '../../domain/ids.ts';
import type { Observation } from '../../domain/observation.ts';
import { type EndedRepack, isForSickNodes, REPACK_OUTCOMES, type RepackSet } from '../../domain/repack.ts';
import type { AutoscalerEvent, EventRecorder, EventSubject } from '../../domain/ports/records.ts';
import { describeEnded, describeSet } from '../../planning/explain/repack-words.ts';
import { describeCondition, sickNodeOf } from '../../planning/facts/sick-nodes.ts';
import { STATUS_NAME } from '../../planning/explain/scale-up-events.ts';
import type { Log } from '../../telemetry/log.ts';
import type { Metrics } from '../../telemetry/metrics.ts';

interface RepackEventDeps {
  readonly events: Pick<EventRecorder, 'record'>;
  readonly log: Log;
  readonly metrics: Pick<Metrics, 'repack' | 'health'>;
  /** Namespace of the status object. */
  readonly namespace: string;
}

/** The same steps, for two causes. */
const WORDS = {
  savings: { begun: 'RepackBegun', undone: 'RepackUndone', ended: 'RepackEnded', name: 'Repack', type: 'Normal' },
  sickness: { begun: 'NodeSick', undone: 'SickNodeKept', ended: 'SickNodeReplaced', name: 'Replacement', type: 'Warning' },
} as const;

export function repackEvents({ events, log, metrics: { repack, health }, namespace }: RepackEventDeps): LoopListener {
  const status = { kind: 'ConfigMap', namespace, name: STATUS_NAME } as const;
  const leftSick = new SickNodesLeft({ events, log });
  for (const outcome of REPACK_OUTCOMES) {
    repack.ended.inc({ outcome }, 0);
    health.replacements.inc({ outcome }, 0);
  }
  const record = (set: RepackSet, event: Omit<AutoscalerEvent, 'subject'>, observation: Observation | undefined): void => {
    const nodes = isForSickNodes(set) ? set.remove.flatMap(({ node }) => nodeSubject(node, observation)) : [];
    for (const subject of [status, ...nodes]) events.record({ subject, ...event });
  };
  const begun = (set: RepackSet, observation: Observation | undefined): void => {
    const { begun: reason, name, type } = wordsOf(set);
    if (!isForSickNodes(set)) repack.begun.inc();
    log.info({ remove: set.remove.map(({ node }) => node), add: set.add, score: set.score }, `${name} begun`);
    record(set, { type, reason, message: `${name} begun: ${describeSet(set)}; it is checked again before anything is done` }, observation);
  };
  const over = (one: EndedRepack, observation: Observation | undefined): void => {
    const { set, outcome, stage, why } = one;
    const { undone, ended, name } = wordsOf(set);
    if (isForSickNodes(set)) health.replacements.inc({ outcome });
    else repack.ended.inc({ outcome });
    log.info({ remove: set.remove.map(({ node }) => node), add: set.add, outcome, stage, reason: why }, `${name} ended`);
    const text = describeEnded(one);
    const back = outcome === 'done' ? set.remove.filter(({ node }) => observation?.cluster.nodes.has(node) === true) : [];
    const well = back.length === 0 ? '' : `; ${back.map(({ node }) => node).join(', ')} came back well from a reimage`;
    const message = `${text.charAt(0).toUpperCase()}${text.slice(1)}${well}`;
    const isUndone = outcome === 'undone';
    const reason = isUndone ? undone : back.length > 0 ? 'SickNodeReimaged' : ended;
    record(set, { type: isUndone ? 'Warning' : 'Normal', reason, message }, observation);
  };
  return ({ repacks, state, observation }) => {
    const { search, running, left } = state.repacks;
    repack.running.set(running.length);
    // Without a price of each node there is no sum.
    repack.savings.set(search?.saved?.perHour ?? 0);
    if (observation !== undefined) leftSick.note(left, observation);
    for (const { set } of repacks.begun) begun(set, observation);
    for (const one of repacks.ended) over(one, observation);
  };
}

function wordsOf(set: RepackSet): (typeof WORDS)[keyof typeof WORDS] {
  return WORDS[isForSickNodes(set) ? 'sickness' : 'savings'];
}

function nodeSubject(name: NodeName, observation: Observation | undefined): readonly EventSubject[] {
  const uid = observation?.cluster.nodes.get(name)?.uid;
  return uid === undefined ? [] : [{ kind: 'Node', name, uid }];
}

/** Says once of each sick node why it is not replaced, and again when the reason is another one. */
class SickNodesLeft {
  readonly #deps: Pick<RepackEventDeps, 'events' | 'log'>;
  #said: ReadonlyMap<NodeName, string> = new Map();

  constructor(deps: Pick<RepackEventDeps, 'events' | 'log'>) {
    this.#deps = deps;
  }

  note(left: ReadonlyMap<NodeName, string>, observation: Observation): void {
    for (const [node, why] of left) {
      if (this.#said.get(node) === why) continue;
      const found = sickNodeOf(node, observation);
      const condition = found === undefined ? 'sick' : `sick (${describeCondition(found.sick.condition)})`;
      const message = `Node is ${condition} and is not replaced now: ${why}`;
      this.#deps.log.info({ node, reason: why }, 'Sick node not replaced');
      for (const subject of nodeSubject(node, observation))
        this.#deps.events.record({ subject, type: 'Warning', reason: 'SickNodeKept', message });
    }
    this.#said = left;
  }
}
