/** One opened thing beside the page, full screen on a phone: what `explain` says about a pod, node, pool or decision, or a long list. */
import { useEffect, useRef } from 'preact/hooks';
import type { Answer } from '../../planning/explain/answers/answer.ts';
import { labelOf, type Verdict, VERDICTS } from '../../planning/explain/verdicts.ts';
import type { NodeRow } from '../../api/documents/blockers.ts';
import type { PendingClass } from '../../api/documents/pending-classes.ts';
import type { Refusal } from '../parts/api-client.ts';
import { NodeBody, PodBody } from './answers.tsx';
import { DecisionBody } from './decision-body.tsx';
import { PoolBody } from './pool-body.tsx';
import { Command, VerdictChip } from '../parts/parts.tsx';
import { Section } from '../parts/sections.tsx';
import { counted, hashFor, type OpenedThing, withArrows } from '../parts/text.ts';
import { useDocument } from '../parts/use-document.ts';
import { Windowed } from '../parts/windowed.tsx';

interface SheetProps {
  readonly thing: OpenedThing;
  readonly close: () => void;
  /** Another value means that there may be newer answers. */
  readonly loop: unknown;
}

export function Sheet({ thing, close, loop }: SheetProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), [thing.kind, thing.id]);
  return (
    <aside class="sheet" aria-labelledby="h-sheet">
      <div class="hd">
        <h2 id="h-sheet" ref={heading} tabIndex={-1}>
          <span class="faint">{KINDS[thing.kind]}</span> {titleOf(thing)}
        </h2>
        <button type="button" class="btn r" onClick={close}>
          Close <kbd>Esc</kbd>
        </button>
      </div>
      <div class="body">
        <Body thing={thing} loop={loop} />
      </div>
    </aside>
  );
}

const KINDS: Readonly<Record<OpenedThing['kind'], string>> = {
  pod: 'Pod',
  node: 'Node',
  pool: 'Pool',
  decision: 'Decision',
  waste: 'Nodes',
  pending: 'Pending',
  keys: 'Keys',
};

function titleOf({ kind, id }: OpenedThing): string {
  const verdict = kind === 'pending' ? VERDICTS.find((each) => each === id) : undefined;
  return verdict === undefined ? id : labelOf(verdict);
}

function Body({ thing: { kind, id }, loop }: Pick<SheetProps, 'thing' | 'loop'>) {
  switch (kind) {
    case 'keys':
      return <Keys />;
    case 'waste':
      return <NodesOf key={id} blocker={id} />;
    case 'pending':
      return <ClassesOf key={id} verdict={id as Verdict} />;
    default:
      return <Explained key={`${kind}/${id}`} kind={kind} id={id} loop={loop} />;
  }
}

function Explained({ kind, id, loop }: { readonly kind: Answer['kind']; readonly id: string; readonly loop: unknown }) {
  const { document, refusal } = useDocument<Answer>(
    `${kind}s/${id.split('/').map(encodeURIComponent).join('/')}`,
    kind === 'decision' ? undefined : loop,
  );
  if (document === undefined) return refusal === undefined ? <p class="sk" /> : <Refused refusal={refusal} kind={kind} />;
  return (
    <>
      <p class="say">{withArrows(document.sentence)}</p>
      {document.kind === 'pod' && <PodBody pod={document} />}
      {document.kind === 'node' && <NodeBody node={document} />}
      {document.kind === 'pool' && <PoolBody pool={document} />}
      {document.kind === 'decision' && <DecisionBody decision={document} />}
      <Section title="The same in a terminal">
        <Command text={`aks-autoscaler explain ${kind} ${id}`} />
      </Section>
    </>
  );
}

function Refused({ refusal, kind }: { readonly refusal: Refusal; readonly kind: string }) {
  const isGone = refusal.kind === 'missing';
  return (
    <p class="none">
      {isGone
        ? `${refusal.message}: it may be gone, or belong to another cluster.`
        : `This ${kind} cannot be read now; the page tries again with the next loop.`}
    </p>
  );
}

const NODE_ROW = 62;

function NodesOf({ blocker }: { readonly blocker: string }) {
  return (
    <Windowed<NodeRow> path={`nodes?reason=${encodeURIComponent(blocker)}`} rowHeight={NODE_ROW} keyOf={({ name }) => name}>
      {({ name, pool, sentence, blocker: pod }) => (
        <>
          <a href={hashFor('node', name)}>{name}</a> {pool !== undefined && <span class="faint">{pool}</span>}
          <span class="two muted" title={sentence}>
            {pod === undefined ? sentence : `Pod ${pod.pod}: ${pod.rule}${pod.detail === '' ? '' : `, ${pod.detail}`}.`}
          </span>
        </>
      )}
    </Windowed>
  );
}

function ClassesOf({ verdict }: { readonly verdict: Verdict }) {
  return (
    <Windowed<PendingClass> path={`pending?verdict=${verdict}`} rowHeight={NODE_ROW + 20} keyOf={({ id }) => id}>
      {({ sample, namespace, owner, pods, sentence, requests }) => (
        <>
          <a href={hashFor('pod', sample)}>
            {namespace}/{owner}
          </a>{' '}
          <span class="faint">
            {counted(pods, 'pod')}, {requests}
          </span>{' '}
          <VerdictChip verdict={verdict} />
          <span class="two muted" title={sentence}>
            {sentence}
          </span>
        </>
      )}
    </Windowed>
  );
}

const KEYS: readonly (readonly [string, string])[] = [
  ['/', 'Ask why: pod, node, pool or decision'],
  ['p', 'Pending pods'],
  ['t', 'Changes over time'],
  ['o', 'Pools'],
  ['n', 'Nodes by blocker'],
  ['d', 'Decisions'],
  ['r', 'Report of a dry run'],
  ['↑ ↓ ← →', 'Walk through rows and markers of a panel'],
  ['Enter', 'Open'],
  ['Esc', 'Close, back to where you were'],
  ['?', 'This list'],
];

function Keys() {
  return (
    <dl class="kv">
      {KEYS.map(([key, meaning]) => (
        <div key={key}>
          <dt>
            <kbd>{key}</kbd>
          </dt>
          <dd>{meaning}</dd>
        </div>
      ))}
    </dl>
  );
}
