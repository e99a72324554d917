/**
 * Adds the devices that a user declares for a group to its template. What a real node publishes, or a former one published, wins. Pure.
 * Idea: template.
 */
import { describeUndeclared } from '../../domain/declared-devices.ts';
import type { DevicePool } from '../../domain/devices.ts';
import type { NodeTemplate } from '../../domain/node-template.ts';

export function withDeclaredDevices(template: NodeTemplate, declared: readonly DevicePool[] | undefined): NodeTemplate {
  if (declared === undefined) return template;
  const { devicePools: published } = template;
  // guard: declared devices give way to what a real node publishes
  if (published.length === 0) return { ...template, devicePools: declared, devicesDeclared: true };
  const difference = describeUndeclared(declared, published);
  if (difference === undefined) return template;
  return { ...template, declaredDiffer: `The devices that are declared for it do not count, since a node has shown others: ${difference}` };
}
