/** The bodies of the answers of `explain`: evidence below the sentence. */
import { useContext } from 'preact/hooks';
import type { DecisionAnswer } from '../../../planning/explain/answers/decision-answer.ts';
import type { NodeAnswer } from '../../../planning/explain/answers/node-answer.ts';
import type { PodAnswer } from '../../../planning/explain/answers/pod-answer.ts';
import type { PoolAnswer } from '../../../planning/explain/answers/pool-answer.ts';
import type { Timeline } from '../../documents/timeline.ts';
import { formatAmount } from '../../../planning/explain/amounts.ts';
import { localNow } from '../parts/browser.ts';
import { Money, Page, PoolBar, Time } from '../parts/parts.tsx';
import { FixBlock, ObstacleTable } from './pending.tsx';
import { Facts, type Fact, Section } from '../parts/sections.tsx';
import { counted, formatAge, formatCount, formatMoney, hashFor } from '../parts/text.ts';
import { useDocument } from '../parts/use-document.ts';

export function PodBody({ pod }: { readonly pod: PodAnswer }) {
  const { advice, pools, waits, increases, owner, equalPods, unschedulableSince } = pod;
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

function Waits({ waits }: { readonly waits: PodAnswer['waits'] }) {
  return (
    <ul>
      {waits.map(({ group, until, since, cause, message }) => (
        <li key={group}>
          <a href={hashFor('pool', group)}>{group}</a>: <code>{cause}</code>
          {since !== undefined && (
            <>
              {' '}
              since <Time at={since} as="clock" />
            </>
          )}
          {until !== undefined && (
            <>
              , next try <Time at={until} />
            </>
          )}
          {message !== undefined && <p class="muted">{message}</p>}
        </li>
      ))}
    </ul>
  );
}

export function NodeBody({ node }: { readonly node: NodeAnswer }) {
  const share = (value: number): string => `${Math.round(value * 100)} %`;
  const { pool, blocker, unneededSince, nextCheck, taints, pods, requested } = node;
  return (
    <>
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

export function PoolBody({ pool }: { readonly pool: PoolAnswer }) {
  const { template, stockouts, quotas, waits } = pool;
  const facts: readonly Fact[] = [
    ['Nodes', `min ${pool.min}, ready ${pool.ready}, upcoming ${pool.upcoming}, target ${pool.target ?? 'unknown'}, max ${pool.max}`],
    ['Counts', `Azure ${pool.target ?? 'unknown'}, AKS ${pool.aksCount ?? 'unknown'}, nodes ${pool.registered}`],
    ['Size', `${pool.vmSize}, ${pool.priority}`],
    ['Zones', pool.zones.join(', ') || undefined],
    [
      'Price',
      pool.perHour === undefined ? undefined : (
        <>
          <Money perHour={pool.perHour} /> per node
        </>
      ),
    ],
    ['Pods', pool.podsWaiting > 0 ? `${counted(pool.podsWaiting, 'pod waits', 'pods wait')} for it` : undefined],
    ...quotas.map(({ title, used, limit, room }): Fact => [
      'Quota',
      `${title}: ${formatCount(used)} of ${formatCount(limit)} cores used, room for ${counted(room, 'node')}`,
    ]),
  ];
  return (
    <>
      <PoolBar {...pool} {...(pool.target === undefined ? {} : { target: pool.target })} />
      <Facts rows={facts} />
      {waits.length > 0 && (
        <Section title="Waits">
          <Waits waits={waits} />
        </Section>
      )}
      {stockouts.length > 0 && (
        <Section title="Out of capacity">
          <ul>
            {stockouts.map(({ zone, code, since, until }) => (
              <li key={`${zone ?? ''} ${code}`}>
                <code>{code}</code> {zone === undefined ? '' : `in zone ${zone} `}since <Time at={since} as="clock" />, next try{' '}
                <Time at={until} />
              </li>
            ))}
          </ul>
        </Section>
      )}
      {template !== undefined && <Template template={template} />}
      <LastWrites pool={pool.name} />
    </>
  );
}

function Template({ template }: { readonly template: NonNullable<PoolAnswer['template']> }) {
  const { realLess } = template;
  const difference = (resource: string, value: number): string =>
    value === 0 ? '' : `, real nodes have ${formatAmount(resource, Math.abs(value))} ${value < 0 ? 'less' : 'more'}`;
  return (
    <Section title={`The node it would add, from ${template.source}`}>
      <Facts
        rows={[
          ['CPU', `${formatAmount('cpu', template.cpuMillis)}${realLess === undefined ? '' : difference('cpu', realLess.cpuMillis)}`],
          [
            'Memory',
            `${formatAmount('memory', template.memoryBytes)}${realLess === undefined ? '' : difference('memory', realLess.memoryBytes)}`,
          ],
          ['Taints', template.taints.join(', ') || 'none'],
        ]}
      />
      {template.cautions.map((caution) => (
        <p key={caution} class="muted">
          {caution}
        </p>
      ))}
      <details>
        <summary>{counted(Object.keys(template.labels).length, 'label')} and where each is known from</summary>
        <table class="obs">
          <tbody>
            {Object.entries(template.labels).map(([key, { value, origin }]) => (
              <tr key={key}>
                <th scope="row">
                  <code>{key}</code>
                </th>
                <td>
                  <code>{value}</code> <span class="faint">{origin}</span>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </details>
    </Section>
  );
}

const DAY_MS = 86_400_000;

/** Who changed its size in the last day. */
function LastWrites({ pool }: { readonly pool: string }) {
  const from = new Date(Math.floor((localNow() + useContext(Page).offsetMs - DAY_MS) / 60_000) * 60_000).toISOString();
  const { document } = useDocument<Timeline>(`timeline?pools=${encodeURIComponent(pool)}&from=${from}`, undefined);
  const marks = document?.lanes[0]?.marks ?? [];
  if (document === undefined || marks.length === 0) return null;
  return (
    <Section title="Changes of its size">
      <table class="obs">
        <tbody>
          {marks.toReversed().map(({ at, from: before, to, cause, actor, actorName, decision }) => (
            <tr key={`${at} ${to}`}>
              <th scope="row">
                <Time at={at} as="clock" />
              </th>
              <td class="nw">
                {before} → {to}
              </td>
              <td>{decision === undefined ? (actorName ?? actor) : <a href={hashFor('decision', decision)}>{actorName ?? actor}</a>}</td>
              <td>{cause}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Section>
  );
}

export function DecisionBody({ decision }: { readonly decision: DecisionAnswer }) {
  const { increases, options, notGrown, removals, pending } = decision;
  const byReason = [...Map.groupBy(notGrown, ({ detail }) => detail)];
  return (
    <>
      <Facts rows={[['When', <Time key="at" at={decision.at} />]]} />
      {increases.length > 0 && (
        <Section title="Increases">
          <ul>
            {increases.map(({ group, from, to, podCount, pods, outcome }) => (
              <li key={group}>
                <a href={hashFor('pool', group)}>{group}</a> {from} → {to} for {counted(podCount, 'pod')}
                {outcome !== undefined && <>; Azure: {outcome}</>}
                <details>
                  <summary>Pods</summary>
                  <p class="muted">
                    {pods.join(', ')}
                    {podCount > pods.length && ` and ${podCount - pods.length} more`}
                  </p>
                </details>
              </li>
            ))}
          </ul>
        </Section>
      )}
      {options.length > 0 && (
        <Section title={counted(options.length, 'option')}>
          <Options options={options} />
        </Section>
      )}
      {byReason.length > 0 && (
        <Section title="Not considered">
          <table class="obs">
            <tbody>
              {byReason.map(([detail, groups]) => (
                <tr key={detail}>
                  <th scope="row">
                    {groups.length <= 3 ? (
                      groups.map(({ group }) => group).join(', ')
                    ) : (
                      <span title={groups.map(({ group }) => group).join(', ')}>{counted(groups.length, 'pool')}</span>
                    )}
                  </th>
                  <td>{detail}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Section>
      )}
      {removals.length > 0 && (
        <Section title="Removals">
          <ul>
            {removals.map(({ node, group, cause }) => (
              <li key={node}>
                <a href={hashFor('node', node)}>{node}</a> of {group}, {cause}
              </li>
            ))}
          </ul>
        </Section>
      )}
      {pending !== undefined && pending.length > 0 && (
        <Section title="Pods that no pool helps">
          <p class="muted">{pending.join(', ')}</p>
        </Section>
      )}
    </>
  );
}

function Options({ options }: { readonly options: DecisionAnswer['options'] }) {
  const { currency } = useContext(Page);
  const hasPriority = options.some(({ priority }) => priority !== undefined);
  const hasPrice = options.some(({ perHour }) => perHour !== undefined);
  return (
    <div class="scroll">
      <table class="opts">
        <thead>
          <tr>
            <th scope="col">Option</th>
            {[
              'Nodes',
              'Pods',
              ...(hasPriority ? ['Priority'] : []),
              'Waste',
              ...(hasPrice ? [currency === undefined ? 'Per hour' : `${currency}/h`] : []),
            ].map((name) => (
              <th key={name} scope="col" class="num">
                {name}
              </th>
            ))}
            <th scope="col">Result</th>
          </tr>
        </thead>
        <tbody>
          {options.map(({ group, nodes, pods, priority, waste, perHour, lostBy }) => (
            <tr key={group} class={lostBy === undefined ? 'win' : ''}>
              <th scope="row">{group}</th>
              <td class="num">{formatCount(nodes)}</td>
              <td class="num">{formatCount(pods)}</td>
              {hasPriority && <td class="num">{priority ?? ''}</td>}
              <td class="num">{waste.toFixed(2)}</td>
              {hasPrice && <td class="num">{perHour === undefined ? 'unknown' : formatMoney(perHour)}</td>}
              <td>{lostBy === undefined ? '✓ chosen' : `lost on ${lostBy}`}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
