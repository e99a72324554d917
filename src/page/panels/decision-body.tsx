/** What `explain` says about a decision. */
import { useContext } from 'preact/hooks';
import type { DecisionAnswer } from '../../planning/explain/answers/decision-answer.ts';
import { Command, Page, Time } from '../parts/parts.tsx';
import { Facts, Section } from '../parts/sections.tsx';
import { counted, formatCount, formatMoney, hashFor } from '../parts/text.ts';

export function DecisionBody({ decision }: { readonly decision: DecisionAnswer }) {
  const { increases, options, notGrown, removals, pending, dumpFile } = decision;
  const byReason = [...Map.groupBy(notGrown, ({ detail }) => detail)];
  return (
    <>
      <Facts rows={[['When', <Time key="at" at={decision.at} />]]} />
      {increases.length > 0 && (
        <Section title="Increases">
          <ul>
            {increases.map(({ group, from, to, purpose, podCount, pods, outcome }) => (
              <li key={group}>
                <a href={hashFor('pool', group)}>{group}</a> {from} → {to} for {purpose ?? counted(podCount, 'pod')}
                {outcome !== undefined && <>; Azure: {outcome}</>}
                {podCount > 0 && (
                  <details>
                    <summary>Pods</summary>
                    <p class="muted">
                      {pods.join(', ')}
                      {podCount > pods.length && ` and ${podCount - pods.length} more`}
                    </p>
                  </details>
                )}
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
            {removals.map(({ node, group, cause, why = cause }) => (
              <li key={node}>
                <a href={hashFor('node', node)}>{node}</a> of {group}, {why}
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
      {dumpFile !== undefined && (
        <Section title="Made again, where it was decided">
          <Command text={`aks-autoscaler replay ${dumpFile}`} />
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
