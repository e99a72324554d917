/** Tags that were meant for a template and say nothing: told, because nobody sees that a label is not there. Pure. */
import { groupOptions, OPTIONS, RESOURCES, statedBy, TAINT, parseTaint, templateResources, templateTaints, type Tags } from './tags.ts';
import { WHOLE_TEMPLATE } from './template-tag.ts';

interface Family {
  readonly prefix: string;
  readonly accepts: string;
  /** Whether a tag alone says anything. */
  readonly speaks: (tags: Tags) => boolean;
}

const FAMILIES: readonly Family[] = [
  {
    prefix: TAINT,
    accepts: 'a value and an effect such as gpu:NoSchedule',
    speaks: (tags) => templateTaints(tags).length > 0,
  },
  { prefix: RESOURCES, accepts: 'a quantity such as 100m or 16Gi', speaks: (tags) => Object.keys(templateResources(tags)).length > 0 },
  { prefix: OPTIONS, accepts: 'a known option and a value it can have', speaks: (tags) => Object.keys(groupOptions(tags)).length > 0 },
];

/** One sentence for each. */
export function badTags(tags: Tags): readonly string[] {
  const ofParts = Object.entries(tags).flatMap(([key, value]) => {
    const family = FAMILIES.find(({ prefix }) => key.toLowerCase().startsWith(prefix));
    return family === undefined || family.speaks({ [key]: value }) ? [] : [`tag ${key} is "${value}"; accepted is ${family.accepts}.`];
  });
  return [...ofParts, ...ofWhole(tags)];
}

function ofWhole(tags: Tags): readonly string[] {
  const { problems, taints, resources, options } = statedBy(tags);
  const told = (what: string, accepts: string): string => `${what}; accepted is ${accepts}`;
  const [taint, quantity, option] = FAMILIES.map(({ accepts }) => accepts);
  return [
    ...problems,
    ...taints.flatMap((text) => (parseTaint(text) === undefined ? [told(`its taint is "${text}"`, `key=${taint ?? ''}`)] : [])),
    ...Object.entries(resources).flatMap(([name, text]) =>
      Object.keys(templateResources({ [`${RESOURCES}x`]: text })).length > 0 ? [] : [told(`its ${name} is "${text}"`, quantity ?? '')],
    ),
    ...Object.entries(options).flatMap(([name, text]) =>
      Object.keys(groupOptions({ [`${OPTIONS}${name}`]: text })).length > 0 ? [] : [told(`its option ${name} is "${text}"`, option ?? '')],
    ),
  ].map((problem) => `tag ${WHOLE_TEMPLATE}: ${problem}.`);
}
