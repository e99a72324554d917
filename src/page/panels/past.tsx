/** What pools wait for, and what changed their sizes before. */
import type { PodAnswer } from '../../planning/explain/answers/pod-answer.ts';
import { Time } from '../parts/parts.tsx';
import { hashFor, poolLabel } from '../parts/text.ts';

export function Past({ changes }: { readonly changes: PodAnswer['before'] }) {
  return (
    <table class="obs">
      <tbody>
        {changes.map(({ at, pool, from, to, by, why, decision }) => (
          <tr key={`${at} ${pool} ${to}`}>
            <th scope="row">
              <Time at={at} as="clock" />
            </th>
            <td class="nw">
              {poolLabel(pool)} {from} → {to}
            </td>
            <td>{decision === undefined ? by : <a href={hashFor('decision', decision)}>{by}</a>}</td>
            <td>{why}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

export function Waits({ waits }: { readonly waits: PodAnswer['waits'] }) {
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
