/** Rules of the configuration that match nothing that is there. Pure. */
import type { PoolsFacts } from '../../adapters/azure/pool-diagnosis.ts';
import type { Config } from '../../config/config.ts';
import { ok, warning, type Check } from './check.ts';

export function configChecks({ azure, policy, warnings }: Config, { pools, idleRules, unusedOptionNames }: PoolsFacts): readonly Check[] {
  const idle = [
    ...idleRules.map((index) => {
      const tags = (azure.discovery[index]?.selectors ?? []).map(({ key, value }) => `${key}=${value}`).join(',');
      const fix = `az vmss update -g ${azure.nodeResourceGroup} -n SCALE_SET --set ${tags
        .split(',')
        .map((tag) => `tags.${tag}`)
        .join(' ')}`;
      return warning('config', `discovery[${index}] (${tags}) selects no scale set of ${azure.nodeResourceGroup}`, fix);
    }),
    ...unusedOptionNames.map((name) =>
      warning('config', `nodeGroupOptions: no node group is named ${name}; there ${pools.length === 1 ? 'is' : 'are'} ${namesIn(pools)}`),
    ),
    ...(policy.scaleUp.priorities ?? []).flatMap(({ priority, patterns }) =>
      patterns
        .filter((pattern) => !pools.some(({ name, agentPool }) => [name, agentPool ?? ''].some((text) => new RegExp(pattern).test(text))))
        .map((pattern) => warning('config', `scaleUp.priorities: the pattern "${pattern}" of level ${priority} matches no node group`)),
    ),
    ...Object.keys(policy.scaleUp.prices ?? {})
      .filter((size) => !pools.some(({ vmSize }) => vmSize.toLowerCase() === size.replace(/\/spot$/, '')))
      .map((size) => warning('config', `scaleUp.prices: no node group has the size ${size}`)),
    ...warnings.map((sentence) => warning('config', sentence)),
  ];
  return idle.length > 0 ? idle : [ok('config', 'every rule of the configuration matches something')];
}

/** As a person may write them: of a scale set that AKS made, its agent pool. */
function namesIn(pools: PoolsFacts['pools']): string {
  const names = pools.map(({ name, agentPool }) => agentPool ?? name);
  return names.length === 0 ? 'none' : names.join(', ');
}
