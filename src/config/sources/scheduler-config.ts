/**
 * The file of kube-scheduler's own configuration (`KubeSchedulerConfiguration`), or AKS's object that contains it (`SchedulerConfiguration` with
 * `spec.rawConfig`). Only the default spread constraints of its profiles are read. Must not know what they mean for pods.
 */
import * as z from 'zod';
import { readYaml } from './yaml-text.ts';
import { isRecord } from '../../lib/json.ts';

const MAX_KIB = 256;
const PLUGIN = 'PodTopologySpread';

const named = z.array(z.object({ name: z.string() })).nullish();
const extension = z.object({ disabled: named }).nullish();
const profile = z.object({
  schedulerName: z.string().nullish(),
  plugins: z.object({ multiPoint: extension, filter: extension }).nullish(),
  pluginConfig: z
    .array(
      z.object({
        name: z.string(),
        args: z.object({ defaultingType: z.string().nullish(), defaultConstraints: z.array(z.unknown()).nullish() }).nullish(),
      }),
    )
    .nullish(),
});
type Profile = z.infer<typeof profile>;

/** A profile with its list of default constraints, as written. */
interface WrittenProfile {
  readonly scheduler: string;
  readonly constraints: readonly unknown[];
}

/** Returns the profiles with a list of default constraints, or why the text has none that are certain. */
export function profilesWithDefaults(text: string): readonly WrittenProfile[] | string {
  if (text.length > MAX_KIB * 1024) return `it is larger than ${MAX_KIB} KiB`;
  const outcome = readYaml(text);
  if ('problem' in outcome) return `it ${outcome.problem}`;
  const found = outcome.documents.map(({ content }) => content).filter(isRecord);
  const wrapped = found.find(({ kind }) => kind === 'SchedulerConfiguration');
  const raw = isRecord(wrapped?.['spec']) ? wrapped['spec']['rawConfig'] : undefined;
  if (typeof raw === 'string') return profilesWithDefaults(raw);
  const configuration = found.find(({ kind }) => kind === 'KubeSchedulerConfiguration');
  if (configuration === undefined) return 'it holds no KubeSchedulerConfiguration';
  const profiles = z.array(profile).nullish().safeParse(configuration['profiles']);
  if (!profiles.success) return 'its profiles are not those of a KubeSchedulerConfiguration';
  return (profiles.data ?? []).flatMap(withDefaults);
}

function withDefaults({ schedulerName, plugins, pluginConfig }: Profile): readonly WrittenProfile[] {
  const disabled = [...(plugins?.multiPoint?.disabled ?? []), ...(plugins?.filter?.disabled ?? [])];
  if (disabled.some(({ name }) => name === PLUGIN || name === '*')) return [];
  const args = (pluginConfig ?? []).find(({ name }) => name === PLUGIN)?.args;
  // `System` has soft constraints only.
  if (args?.defaultingType !== 'List') return [];
  return [{ scheduler: schedulerName ?? 'default-scheduler', constraints: args.defaultConstraints ?? [] }];
}
