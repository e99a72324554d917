/** What `explain` says about a pool. */
import type { PoolAnswer } from '../../planning/explain/answers/pool-answer.ts';
import { describeDiscount, describePaid, describePlacement, describeReservedRoom, formatAmount } from '../../planning/explain/amounts.ts';
import { Money, PoolBar, Time } from '../parts/parts.tsx';
import { Facts, type Fact, Section } from '../parts/sections.tsx';
import { counted, formatAge, formatCount } from '../parts/text.ts';
import { Past, Waits } from './past.tsx';

function scheduleFacts({ schedule, ahead = [] }: PoolAnswer): readonly Fact[] {
  if (schedule === undefined) return [];
  const next = ahead.slice(0, 3).map(({ local, text }): Fact => ['Next', `${local}: ${text}`]);
  return [['Schedule', schedule.join('; ') || 'no rule holds now'], ...next];
}

function roomFacts({ headroom = [], cancelling }: PoolAnswer): readonly Fact[] {
  return [...headroom.map(({ sentence }): Fact => ['Headroom', sentence]), ['Cancelling', cancelling]];
}

export function PoolBody({ pool }: { readonly pool: PoolAnswer }) {
  const { template, stockouts, quotas, waits, reservation } = pool;
  const facts: readonly Fact[] = [
    ['Nodes', `min ${pool.min}, ready ${pool.ready}, upcoming ${pool.upcoming}, target ${pool.target ?? 'unknown'}, max ${pool.max}`],
    ['Paused', pool.paused],
    ['Health', pool.health],
    ...scheduleFacts(pool),
    ...roomFacts(pool),
    ['Stopped', pool.deallocation],
    ['Counts', `Azure ${pool.target ?? 'unknown'}, AKS ${pool.aksCount ?? 'unknown'}, nodes ${pool.registered}`],
    ['Size', `${pool.vmSize}, ${pool.priority}`],
    ['Zones', pool.zones.join(', ') || undefined],
    ['Placement', describePlacement(pool.placementScore)],
    [
      'Price',
      pool.perHour === undefined ? undefined : (
        <>
          <Money perHour={pool.perHour} /> per node{describeDiscount(pool.discount)}
        </>
      ),
    ],
    ['Paid', pool.paid === undefined ? undefined : describePaid(pool.paid)],
    [
      'Ready after',
      pool.readyTime === undefined
        ? undefined
        : `p50 ${formatAge(pool.readyTime.p50Ms)}, p90 ${formatAge(pool.readyTime.p90Ms)}, of ${counted(pool.readyTime.count, 'node')}`,
    ],
    ['Pods', pool.podsWaiting > 0 ? `${counted(pool.podsWaiting, 'pod waits', 'pods wait')} for it` : undefined],
    ...quotas.map(({ title, used, limit, room }): Fact => [
      'Quota',
      `${title}: ${formatCount(used)} of ${formatCount(limit)} cores used, room for ${counted(room, 'node')}`,
    ]),
    ['Reserved', reservation === undefined ? undefined : describeReservedRoom(reservation)],
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
      {pool.changes.length > 0 && (
        <Section title="Last changes of its size, and who made them">
          <Past changes={pool.changes} />
        </Section>
      )}
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
          ['Devices', template.devices],
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
