/** What `explain` says about a pod and a node: evidence below the sentence. */
import type { NodeAnswer } from '../../planning/explain/answers/node-answer.ts';
import type { PodAnswer } from '../../planning/explain/answers/pod-answer.ts';
import { Money, Time } from '../parts/parts.tsx';
import { Facts, Section } from '../parts/sections.tsx';
import { counted, formatAge, formatCount, hashFor, poolLabel } from '../parts/text.ts';
import { Past, Waits } from './past.tsx';
import { FixBlock, ObstacleTable, Steps } from './pending.tsx';

export function PodBody({ pod }: { readonly pod: PodAnswer }) {
  const { advice, pools, waits, increases, owner, equalPods, unschedulableSince, expected, before } = pod;
  return (
    <>
      {advice?.fix !== undefined && (
        <FixBlock of={{ fix: { ...advice.fix, proved: true, simulated: advice.fix.proof, tried: advice.tried } }} />
      )}
      {advice !== undefined && advice.fix === undefined && advice.wait === undefined && advice.tried > 0 && (
        <FixBlock
          of={{
            fix: {
              proved: false,
              text: '',
              changes: [],
              steps: [],
              tried: advice.tried,
              ...(advice.nearest === undefined ? {} : { nearest: advice.nearest }),
            },
          }}
        />
      )}
      <Facts
        rows={[
          ['Unschedulable', unschedulableSince === undefined ? undefined : <Time at={unschedulableSince} />],
          ['Owner', owner],
          ['Expected', expected === undefined ? undefined : <Expected key="expected" {...expected} />],
          ['Equal pods', equalPods > 0 ? `${counted(equalPods, 'more waits', 'more wait')} for the same` : undefined],
        ]}
      />
      {pools.length > 0 && (
        <Section title="Pools and obstacles">
          <ObstacleTable rows={pools} />
        </Section>
      )}
      {waits.length > 0 && (
        <Section title="Waits">
          <Waits waits={waits} />
        </Section>
      )}
      {before.length > 0 && (
        <Section title="Before">
          <Past changes={before} />
        </Section>
      )}
      {increases.length > 0 && (
        <Section title="What was done for it">
          <ul>
            {increases.map(({ group, nodes, acceptedAt, stage, since }) => (
              <li key={`${group} ${acceptedAt}`}>
                <a href={hashFor('pool', group)}>{group}</a> +{nodes}, accepted <Time at={acceptedAt} />; {stage} <Time at={since} />
              </li>
            ))}
          </ul>
        </Section>
      )}
    </>
  );
}

/** From what earlier increases of the pool took. */
function Expected({ pool, readyAt, seen, p50Ms, p90Ms }: NonNullable<PodAnswer['expected']>) {
  return (
    <>
      <a href={hashFor('pool', pool)}>{poolLabel(pool)}</a>,{' '}
      {readyAt === undefined ? 'no earlier increase was seen' : <Time at={readyAt} />}
      {p50Ms !== undefined && p90Ms !== undefined && ` (p50 ${formatAge(p50Ms)}, p90 ${formatAge(p90Ms)} of ${formatCount(seen)})`}
    </>
  );
}

function StoppedNodeBody({ node: { pool = '', vmSize, stoppedSince = '' } }: { readonly node: NodeAnswer }) {
  return (
    <Facts
      rows={[
        ['Pool', <a href={hashFor('pool', pool)}>{pool}</a>],
        ['Size', vmSize],
        ['Stopped since', <Time at={stoppedSince} />],
      ]}
    />
  );
}

export function NodeBody({ node }: { readonly node: NodeAnswer }) {
  if (node.stoppedSince !== undefined) return <StoppedNodeBody node={node} />;
  const share = (value: number): string => `${Math.round(value * 100)} %`;
  const { pool, blocker, unneededSince, nextCheck, taints, pods, requested, advice } = node;
  return (
    <>
      {advice !== undefined && <Freeing advice={advice} />}
      <Facts
        rows={[
          ['Pool', pool === undefined ? undefined : <a href={hashFor('pool', pool)}>{pool}</a>],
          ['Size', node.vmSize],
          ['Zone', node.zone],
          ['Price', node.perHour === undefined ? undefined : <Money perHour={node.perHour} />],
          ['Requested', `${share(requested.cpu)} of CPU, ${share(requested.memory)} of memory`],
          ['Unneeded since', unneededSince === undefined ? undefined : <Time at={unneededSince} />],
          ['Removable after', formatAge(node.removableAfterMs)],
          [
            'Blocked by',
            blocker === undefined ? undefined : (
              <>
                <a href={hashFor('pod', blocker.pod)}>{blocker.pod}</a> {blocker.reason} {blocker.detail}
              </>
            ),
          ],
          ['Next check', nextCheck === undefined ? undefined : <Time at={nextCheck} />],
          ['Health', node.health],
          ['State', `${node.ready ? 'ready' : 'not ready'}${node.cordoned ? ', cordoned' : ''}`],
        ]}
      />
      {taints.length > 0 && (
        <Section title="Taints">
          <ul>
            {taints.map(({ taint, by }) => (
              <li key={taint}>
                <code>{taint}</code> by {by}
              </li>
            ))}
          </ul>
        </Section>
      )}
      <Section title={counted(pods.length, 'pod')}>
        <ul class="names">
          {pods.map((name) => (
            <li key={name}>
              <a href={hashFor('pod', name)}>{name}</a>
            </li>
          ))}
        </ul>
      </Section>
    </>
  );
}

/** What would free the node: only what was simulated and works. */
function Freeing({ advice }: { readonly advice: NonNullable<NodeAnswer['advice']> }) {
  const { fix, wait, obstacle, tried } = advice;
  if (fix !== undefined) {
    const { nodes, perHour } = fix.proof;
    return (
      <div class="fix">
        <b>Fix that works:</b> {fix.text}.{' '}
        <span class="muted">
          Frees {counted(nodes, 'node')}
          {perHour !== undefined && (
            <>
              , saves <Money perHour={perHour} />
            </>
          )}
          .
        </span>
        <Steps steps={fix.steps} />
      </div>
    );
  }
  if (wait !== undefined) return <div class="fix none">{`${wait.charAt(0).toUpperCase()}${wait.slice(1)}.`}</div>;
  if (tried === 0) return null;
  return (
    <div class="fix none">
      <b>No single change frees it.</b> {obstacle !== undefined && `In the way: ${obstacle}. `}
      {counted(tried, 'change was', 'changes were')} tried.
    </div>
  );
}
