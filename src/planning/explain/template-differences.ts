/** What a template promised and a real node did not keep, as one sentence without a semicolon: it separates the reasons of one pool. */
import type { TemplateDifference } from '../../domain/node-template.ts';
import { attachResource, isAttachResource } from '../../domain/resources.ts';
import { amountsOf } from './amounts.ts';

/** No VM size attaches as many. */
const MOST_VOLUMES = 1_000_000;

/** `Template promised 3.86 CPU, node x offers 2.86: pod kube-system/agent-x uses 1`. Only the largest shortage is named. */
export function describeDifference(difference: TemplateDifference): string {
  const { node, resources, labels, taints, ports, features = [], devices, drivers = [], zones } = difference;
  const [short] = resources;
  if (short !== undefined) return describeShortage(node, short);
  const [label] = labels;
  if (label !== undefined) {
    const found = label.found === undefined ? 'has no such label' : `has ${label.found}`;
    return `Template promised label ${label.key}=${label.promised}, node ${node} ${found}`;
  }
  const [taint] = taints;
  if (taint !== undefined) return `Template has no taint ${taint.key}:${taint.effect}, node ${node} has it`;
  if (features.length > 0) return `Template promised kubelet feature ${features.join(', ')}, node ${node} does not declare it`;
  if (drivers.length > 0) return `Template promised CSI driver ${drivers.join(', ')}, node ${node} has not registered it`;
  const [device] = devices ?? [];
  if (device !== undefined) return `Template promised ${device.promised} devices of ${device.driver}, node ${node} has ${device.offered}`;
  if (zones !== undefined) return `Template promised zone ${zones.missing.join(', ')}, node ${node} came in ${zones.found}`;
  return `Template promised host port ${ports.map(({ port, protocol }) => `${port}/${protocol}`).join(', ')}, on node ${node} it is in use`;
}

function describeShortage(node: string, { resource, promised, offered, pod, uses }: TemplateDifference['resources'][number]): string {
  if (isAttachResource(resource)) return describeSlots(node, { resource, promised, offered });
  const amounts = [promised, offered, ...(uses === undefined ? [] : [uses])];
  const { what, texts } = amountsOf(resource, amounts);
  const because = pod === undefined ? '' : `: pod ${pod} uses ${texts[2]}`;
  return `Template promised ${texts[0]} ${what}, node ${node} offers ${texts[1]}${because}`;
}

/** A template without a known limit promises more volumes than any node attaches. */
function describeSlots(node: string, { resource, promised, offered }: TemplateDifference['resources'][number]): string {
  const known = promised < MOST_VOLUMES ? `${promised} volumes` : 'volumes without a limit';
  return `Template promised ${known} of ${resource.slice(attachResource('').length)}, node ${node} attaches ${offered}`;
}
