/** An overview of 100 pools and 5,000 nodes with 3,000 pending pods, as the API would send it. */
import { overviewOf } from '../../src/api/documents/overview.ts';
import type { DocumentInput } from '../../src/api/documents/document-input.ts';
import { aGroup, anInstance, aNode, aPod } from '../support/builders.ts';
import { aPolicy } from '../support/policy.ts';
import { documentInput } from './support.ts';

const TEAMS = ['core', 'pay', 'web', 'etl', 'ml', 'search', 'render', 'ci', 'data', 'edge'];
const SIZES = ['Standard_D8s_v5', 'Standard_D16s_v5', 'Standard_E16s_v5', 'Standard_F16s_v2', 'Standard_L8s_v3'];
const NODES = 50;

/** One loop over it. */
export function manyPools(): Promise<DocumentInput> {
  const groups = Array.from({ length: 100 }, (_, at) => {
    const name = `${TEAMS[at % TEAMS.length] ?? ''}${at}`;
    const isFull = at % 14 === 3;
    const nodes = Array.from({ length: NODES }, (_node, index) => `aks-${name}-vmss${String(index).padStart(6, '0')}`);
    return {
      nodes,
      group: aGroup({
        id: name,
        minSize: 0,
        maxSize: isFull ? NODES : NODES + 30,
        target: NODES,
        vmSize: SIZES[at % SIZES.length] ?? '',
        zones: [String((at % 3) + 1)],
        agentPool: { name, labels: { team: TEAMS[at % TEAMS.length] ?? '' } },
        instances: nodes.map((node) => anInstance({ node })),
        ...(at % 25 === 7 ? { frozen: 'AKS is upgrading it' } : {}),
      }),
    };
  });
  const nodes = groups.flatMap(({ nodes: names }) => names.map((name) => aNode({ name })));
  const running = nodes.map(({ name }, at) => aPod({ name: `run-${at}`, cpu: '3800m', nodeName: name }));
  const waiting = Array.from({ length: 60 }, (_, at) =>
    Array.from({ length: 50 }, (_pod, index) =>
      aPod({
        name: `wait-${at}-${index}`,
        namespace: TEAMS[at % TEAMS.length] ?? 'x',
        cpu: `${10 + at}`,
        controller: { kind: 'StatefulSet', name: `wait-${at}`, uid: `set-${at}` },
      }),
    ),
  ).flat();
  const prices = Object.fromEntries(SIZES.map((size, at) => [size.toLowerCase(), 0.4 + at / 10]));
  return documentInput({
    groups: groups.map(({ group }) => group),
    nodes,
    pods: [...running, ...waiting],
    policy: aPolicy({ scaleUp: { prices } }),
    advise: false,
  });
}

export const bytesOf = (input: DocumentInput): number => Buffer.byteLength(JSON.stringify(overviewOf(input)));
